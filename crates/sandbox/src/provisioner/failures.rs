//! Scripted failures of the provisioner: calls that it refuses, and operations that end badly.
//!
//! Faults hit calls before they are understood. These hit what a call is about.

use serde::{Deserialize, Serialize};

use super::operation::LastError;
use crate::graphql::Refused;

const SCRIPTED_MAX: usize = 1000;

/// What people send to `POST /provisioner/failures`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    #[serde(default, rename = "match")]
    subject: Subject,
    operation: Call,
    /// How many calls it hits; 0 means every call until it is cleared.
    #[serde(default = "once")]
    times: u32,
    kind: FailureKind,
    #[serde(default = "internal")]
    error_code: u16,
    #[serde(default = "scripted")]
    message: String,
    #[serde(default = "scripted_reason")]
    reason: String,
    #[serde(default = "gardener")]
    component: String,
    #[serde(skip_deserializing)]
    hits: u32,
}

fn once() -> u32 {
    1
}

fn internal() -> u16 {
    500
}

fn scripted() -> String {
    "a scripted failure".into()
}

fn scripted_reason() -> String {
    "ERR_SCRIPTED".into()
}

fn gardener() -> String {
    "gardener".into()
}

/// All that is given must be equal; nothing given means every runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instance_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sub_account: Option<String>,
}

impl Subject {
    fn covers(&self, other: &Subject) -> bool {
        let is_met = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        is_met(&self.name, &other.name)
            && is_met(&self.instance_id, &other.instance_id)
            && is_met(&self.runtime_id, &other.runtime_id)
            && is_met(&self.tenant, &other.tenant)
            && is_met(&self.sub_account, &other.sub_account)
    }
}

/// The calls that can be scripted; `Status` is a question about an operation or a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Call {
    Provision,
    Deprovision,
    Upgrade,
    UpgradeShoot,
    Hibernate,
    Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureKind {
    /// The call is answered, and the operation that it starts ends as failed.
    Operation,
    /// The call does nothing and is answered with an error.
    Error,
}

#[derive(Debug, Default)]
pub(super) struct Failures {
    scripted: Vec<Failure>,
}

impl Failures {
    pub(super) fn add(&mut self, failure: Failure) -> Result<(), String> {
        if self.scripted.len() >= SCRIPTED_MAX {
            return Err(format!("at most {SCRIPTED_MAX} failures can be scripted at once"));
        }
        if !(400..=599).contains(&failure.error_code) {
            return Err(format!("error_code must be between 400 and 599, got {}", failure.error_code));
        }
        if failure.operation == Call::Status && failure.kind == FailureKind::Operation {
            return Err("a question about the status starts no operation, so its kind must be error".into());
        }
        self.scripted.push(failure);
        Ok(())
    }

    pub(super) fn all(&self) -> &[Failure] {
        &self.scripted
    }

    pub(super) fn clear(&mut self) {
        self.scripted.clear();
    }

    /// The oldest failure for this call: a refusal, or how the operation that it starts will fail.
    pub(super) fn next_for(&mut self, call: Call, subject: &Subject) -> Result<Option<LastError>, Refused> {
        let is_meant = |failure: &Failure| failure.operation == call && failure.subject.covers(subject);
        let Some(position) = self.scripted.iter().position(is_meant) else { return Ok(None) };
        let failure = &mut self.scripted[position];
        failure.hits += 1;
        let Failure { kind, error_code, message, reason, component, .. } = failure.clone();
        if failure.times != 0 && failure.hits >= failure.times {
            self.scripted.remove(position);
        }
        match kind {
            FailureKind::Operation => Ok(Some(LastError { message, reason, component })),
            FailureKind::Error => Err(Refused { message, error_code }),
        }
    }
}
