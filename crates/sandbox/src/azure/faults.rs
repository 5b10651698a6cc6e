//! Faults on demand: calls that fail, answers that get lost, instances that fail in their operation.

use axum::http::Method;
use serde::{Deserialize, Serialize};

use super::resource::ArmKind;
use crate::script::{Fault, Script};

const TEXT_CHARS_MAX: usize = 500;

/// Each kind is taken by the one place that carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AzureFaultKind {
    /// A call is refused with a code, and nothing is done.
    Fail,
    /// A call is carried out, and its answer never arrives.
    Lose,
    /// An instance fails in its operation.
    Die,
    /// An instance runs, and its operation fails.
    OsTimeout,
    /// A public address never gets an address.
    NoAddress,
    /// The group of a call is gone, with all that is in it.
    Vanish,
    /// The token of a call is refused.
    Revoke,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum ArmMethod {
    Get,
    Put,
    Post,
    Delete,
}

impl ArmMethod {
    pub(super) fn of(method: &Method) -> Option<ArmMethod> {
        match *method {
            Method::GET => Some(ArmMethod::Get),
            Method::PUT => Some(ArmMethod::Put),
            Method::POST => Some(ArmMethod::Post),
            Method::DELETE => Some(ArmMethod::Delete),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ArmMethod::Get => "GET",
            ArmMethod::Put => "PUT",
            ArmMethod::Post => "POST",
            ArmMethod::Delete => "DELETE",
        }
    }
}

/// What a client sends to `POST /azure/faults`. Its `about` is a part of the name of the resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AzureFault {
    kind: AzureFaultKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<ArmMethod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource: Option<ArmKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u64>,
}

/// What a fault could hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct AzureChance<'a> {
    pub(super) method: ArmMethod,
    pub(super) kind: Option<ArmKind>,
    pub(super) name: &'a str,
}

/// What is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FaultText {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) status: Option<u16>,
    pub(super) retry_after_s: Option<u64>,
}

impl FaultText {
    pub(super) fn new(code: &str, message: &str) -> FaultText {
        FaultText { code: code.to_owned(), message: message.to_owned(), status: None, retry_after_s: None }
    }
}

impl Fault for AzureFault {
    fn check(&self) -> Result<(), String> {
        let is_long = |text: &String| text.chars().count() > TEXT_CHARS_MAX;
        if [&self.code, &self.message].into_iter().flatten().any(is_long) {
            return Err("a text is too long".into());
        }
        if self.kind == AzureFaultKind::Fail && self.code.is_none() {
            return Err("fail needs the code to answer".into());
        }
        if self.status.is_some_and(|status| !(400..=599).contains(&status)) {
            return Err("status must be between 400 and 599".into());
        }
        Ok(())
    }
}

impl AzureFault {
    fn is_for(&self, chance: &AzureChance<'_>) -> bool {
        self.method.is_none_or(|method| method == chance.method)
            && self.resource.is_none_or(|kind| Some(kind) == chance.kind)
    }
}

impl Script<AzureFault> {
    /// What to say where a fault of this kind hits now.
    pub(super) fn hits(&self, kind: AzureFaultKind, chance: &AzureChance<'_>) -> Option<FaultText> {
        let is_about = |about: &str| chance.name.contains(about);
        let fault = self.take(|fault| fault.kind == kind && fault.is_for(chance), is_about)?;
        let code = match kind {
            AzureFaultKind::OsTimeout => "OSProvisioningTimedOut",
            AzureFaultKind::Die => "AllocationFailed",
            _ => "InternalServerError",
        };
        Some(FaultText {
            code: fault.code.unwrap_or_else(|| code.to_owned()),
            message: fault.message.unwrap_or_else(|| "this was scripted".into()),
            status: fault.status,
            retry_after_s: fault.retry_after_s,
        })
    }
}

/// Every so many calls one is refused, because there were too many.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AzureThrottle {
    /// 1 refuses every call, and 0 none.
    every: u64,
    #[serde(default)]
    method: Option<ArmMethod>,
    #[serde(default)]
    pub(super) retry_after_s: u64,
    #[serde(skip_deserializing)]
    calls: u64,
}

impl AzureThrottle {
    pub(super) fn hits(&mut self, method: ArmMethod) -> bool {
        if self.every == 0 || self.method.is_some_and(|only| only != method) {
            return false;
        }
        self.calls += 1;
        self.calls.is_multiple_of(self.every)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_hits_the_calls_that_it_names() {
        let script = Script::<AzureFault>::default();
        let body = json!({"kind": "fail", "method": "PUT", "resource": "vm", "code": "X", "about": "-01"});
        script.add(serde_json::from_value(body).unwrap()).unwrap();
        let hits = |method, kind, name| {
            script.hits(AzureFaultKind::Fail, &AzureChance { method, kind: Some(kind), name }).is_some()
        };
        assert!(!hits(ArmMethod::Get, ArmKind::Vm, "a-01"));
        assert!(!hits(ArmMethod::Put, ArmKind::Nic, "a-01"));
        assert!(!hits(ArmMethod::Put, ArmKind::Vm, "a-00"));
        assert!(hits(ArmMethod::Put, ArmKind::Vm, "a-01"));
        assert!(!hits(ArmMethod::Put, ArmKind::Vm, "a-01"));
        let refused = |json| Script::<AzureFault>::default().add(serde_json::from_value(json).unwrap());
        assert!(refused(json!({"kind": "fail"})).unwrap_err().contains("code"));
        assert!(refused(json!({"kind": "lose", "status": 200})).unwrap_err().contains("400"));
    }
}
