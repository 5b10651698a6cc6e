//! Faults of builds and of the call that begins one: it fails, is held, hides its upload, or its answer is lost.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::build::{BuildFailure, Status};
use crate::script::{Fault, Script};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BuildFaultKind {
    Fail,
    Hold,
    NoUpload,
    /// The call is carried out, and its answer never arrives.
    Lose,
}

/// What a client sends to `POST /image-builder/faults`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildFault {
    kind: BuildFaultKind,
    /// The status at whose end a build fails; only for failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Status>,
    /// The error that it is told with; only for failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl Fault for BuildFault {
    fn check(&self) -> Result<(), String> {
        if self.kind != BuildFaultKind::Fail && (self.at.is_some() || self.error.is_some()) {
            return Err("at and error are only for failures".into());
        }
        if self.at.is_some_and(Status::is_over) {
            return Err("at must be pending, building, uploading or registering".into());
        }
        Ok(())
    }
}

impl Script<BuildFault> {
    /// Whether a build with these texts is hit.
    pub(super) fn hits(&self, kind: BuildFaultKind, texts: &[&str]) -> bool {
        self.next(kind, texts).is_some()
    }

    pub(super) fn failure(&self, texts: &[&str]) -> Option<BuildFailure> {
        let fault = self.next(BuildFaultKind::Fail, texts)?;
        let at = fault.at.unwrap_or(Status::Building);
        Some(BuildFailure { at, error: fault.error.unwrap_or_else(|| failures(at)) })
    }

    fn next(&self, kind: BuildFaultKind, texts: &[&str]) -> Option<BuildFault> {
        self.take(|fault| fault.kind == kind, |about| texts.iter().any(|text| text.contains(about)))
    }
}

/// Errors that point at errors, the way they come from a queue of jobs.
fn failures(at: Status) -> Value {
    let told =
        |id: u32, reason: &str, details: Value| json!({"id": id, "reason": reason, "details": details});
    match at {
        Status::Uploading | Status::Registering => {
            let inner = told(11, "the image could not be uploaded: access denied", Value::Null);
            told(28, "one of the targets failed", json!([inner]))
        }
        _ => {
            let inner = told(22, "no package matches no-such-package", Value::Null);
            let middle = told(5, "depsolving failed", json!([inner]));
            told(9, "making the manifest failed", json!([middle]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(json: Value) -> Result<u64, String> {
        Script::<BuildFault>::default().add(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn a_build_cannot_fail_when_it_is_over() {
        assert!(add(json!({"kind": "fail", "at": "success"})).is_err());
        assert!(add(json!({"kind": "hold", "at": "building"})).is_err());
        assert!(add(json!({"kind": "fail", "at": "building"})).is_ok());
    }
}
