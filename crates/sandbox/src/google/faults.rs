//! Faults on demand: calls that fail, answers that get lost, instances that cannot be made, die or stay without an
//! address.

use serde::{Deserialize, Serialize};

use super::call_error::GceError;
use crate::script::{Fault, Script};

const TEXT_CHARS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GceFaultKind {
    /// A call is refused with a status and a reason, and nothing is done.
    Fail,
    /// A call is carried out, and its answer never arrives.
    Lose,
    /// An instance of a bulk call is not made, with a code in the operation.
    FailInside,
    /// An instance of a bulk call dies in place of running.
    Die,
    /// An instance runs, and never gets a public address.
    NoAddress,
    /// The deletion of an instance fails in its operation, and the instance stays.
    Undeletable,
    /// An instance ends, and its disk stays.
    LeaveDisk,
}

/// What a client sends to `POST /gcp/faults`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceFault {
    kind: GceFaultKind,
    /// Which calls are hit, such as `instances.bulkInsert`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The reason of a refused call, or the code of an instance that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

impl Fault for GceFault {
    fn check(&self) -> Result<(), String> {
        let texts = [&self.action, &self.code, &self.message, &self.project];
        if texts.into_iter().flatten().any(|text| text.chars().count() > TEXT_CHARS_MAX) {
            return Err("a text is too long".into());
        }
        let is_about_calls = matches!(self.kind, GceFaultKind::Fail | GceFaultKind::Lose);
        if is_about_calls != self.action.is_some() {
            return Err("fail and lose need the action that they are about, and no other kind has one".into());
        }
        if self.status.is_some_and(|status| !(400..600).contains(&status)) {
            return Err("status must be between 400 and 599".into());
        }
        Ok(())
    }
}

/// What is said about it.
#[derive(Debug, Clone)]
pub(super) struct GceFailure {
    pub(super) code: String,
    pub(super) message: String,
}

impl Script<GceFault> {
    fn hit(&self, kind: GceFaultKind, project: &str, action: Option<&str>, name: &str) -> Option<GceFault> {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let is_meant = |fault: &GceFault| {
            fault.kind == kind && is(&fault.project, project) && fault.action.as_deref() == action
        };
        self.take(is_meant, |about| name.contains(about))
    }

    /// A call that is refused.
    pub(super) fn refuses(&self, project: &str, action: &str, path: &str) -> Option<GceError> {
        let fault = self.hit(GceFaultKind::Fail, project, Some(action), path)?;
        let code = fault.code.as_deref().unwrap_or("backendError");
        let message = fault.message.unwrap_or_else(|| "this was scripted".to_owned());
        Some(GceError::new(fault.status.unwrap_or(503), code, message))
    }

    pub(super) fn loses(&self, project: &str, action: &str, path: &str) -> bool {
        self.hit(GceFaultKind::Lose, project, Some(action), path).is_some()
    }

    /// An instance that is hit.
    pub(super) fn hits(&self, kind: GceFaultKind, project: &str, name: &str) -> Option<GceFailure> {
        let fault = self.hit(kind, project, None, name)?;
        let code = fault.code.unwrap_or_else(|| "INTERNAL_ERROR".to_owned());
        Some(GceFailure { code, message: fault.message.unwrap_or_else(|| "this was scripted".to_owned()) })
    }
}
