//! Faults of the provisioner: calls that it refuses, and operations that end badly.
//!
//! The faults of a call hit it before it is understood. These hit what it is about.

use serde::{Deserialize, Serialize};

use super::operation::SimulatedError;
use crate::graphql::GraphqlError;
use crate::script::{Fault, Script};

/// What a client sends to `POST /provisioner/faults`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuntimeFault {
    #[serde(default, rename = "match")]
    subject: FaultMatch,
    operation: ScriptedCall,
    kind: RuntimeFaultKind,
    #[serde(default = "internal")]
    error_code: u16,
    #[serde(default = "scripted")]
    message: String,
    #[serde(default = "scripted_reason")]
    reason: String,
    #[serde(default = "gardener")]
    component: String,
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
pub(super) struct FaultMatch {
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

impl FaultMatch {
    fn covers(&self, other: &FaultMatch) -> bool {
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
pub(super) enum ScriptedCall {
    Provision,
    Deprovision,
    Upgrade,
    UpgradeShoot,
    Hibernate,
    Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RuntimeFaultKind {
    /// The call is answered, and the operation that it starts ends as failed.
    Operation,
    /// The call does nothing and is answered with an error.
    Error,
}

impl Fault for RuntimeFault {
    fn check(&self) -> Result<(), String> {
        if !(400..=599).contains(&self.error_code) {
            return Err(format!("error_code must be between 400 and 599, got {}", self.error_code));
        }
        if self.operation == ScriptedCall::Status && self.kind == RuntimeFaultKind::Operation {
            return Err("a question about the status starts no operation, so its kind must be error".into());
        }
        Ok(())
    }
}

pub(super) type RuntimeFaults = Script<RuntimeFault>;

impl RuntimeFaults {
    /// The fault that hits this call: a refusal, or how the operation that it starts will fail.
    pub(super) fn next_for(
        &self,
        call: ScriptedCall,
        subject: &FaultMatch,
    ) -> Result<Option<SimulatedError>, GraphqlError> {
        let is_about = |about: &str| subject.name.as_ref().is_some_and(|name| name.contains(about));
        let is_meant = |fault: &RuntimeFault| fault.operation == call && fault.subject.covers(subject);
        let Some(fault) = self.take(is_meant, is_about) else { return Ok(None) };
        let RuntimeFault { kind, error_code, message, reason, component, .. } = fault;
        match kind {
            RuntimeFaultKind::Operation => Ok(Some(SimulatedError { message, reason, component })),
            RuntimeFaultKind::Error => Err(GraphqlError { message, error_code }),
        }
    }
}
