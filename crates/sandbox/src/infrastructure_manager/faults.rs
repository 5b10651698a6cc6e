//! Faults of Infrastructure Manager, of Lifecycle Manager, and of the API server in front of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::script::{Fault, Script};

/// What a client sends to `POST /infrastructure-manager/faults`. `about` is part of the name of a runtime or of the id
/// of its instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManagerFault {
    pub(super) kind: ManagerFaultKind,
    /// For `failed` and `pending`: the reason of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// For `failed` and `pending`: codes of the last error of the shoot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) codes: Vec<String>,
    /// For `pending` and `stale_ready`: how long it lasts. Without it `pending` is for ever, and `stale_ready` an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lasts_ms: Option<u64>,
    /// For `failed` and `pending`: only when a runtime is created, updated or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<Work>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Work {
    Create,
    Update,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ManagerFaultKind {
    /// Infrastructure Manager ends the work as Failed and does not try again.
    Failed,
    /// The runtime stays Pending with a reason, for a while or for ever.
    Pending,
    /// An update is not taken up: the status from before stays.
    StaleReady,
    /// The Secret of the kubeconfig has no data, as while it is replaced.
    KubeconfigRotating,
    /// Another writer changes the object just before a PUT or PATCH that names a version.
    OtherWriter,
    /// A watch opens and sends nothing, not even its end.
    WatchSilent,
    /// A watch is told that its version is too old.
    WatchExpired,
    /// Until it is cleared, no role has the verb `patch`.
    NoPatchRight,
    /// Until it is cleared, the resource definition is that of June 2025.
    OlderDefinition,
    /// The deletion of a Kyma resource does not end.
    KymaDeletionHangs,
}

impl Fault for ManagerFault {
    fn check(&self) -> Result<(), String> {
        use ManagerFaultKind::{Failed, Pending, StaleReady};
        let has_condition = matches!(self.kind, Failed | Pending);
        if !has_condition
            && (self.reason.is_some()
                || self.message.is_some()
                || !self.codes.is_empty()
                || self.on.is_some())
        {
            return Err("reason, message, codes and on are only for the kinds failed and pending".into());
        }
        if self.lasts_ms.is_some() && !matches!(self.kind, Pending | StaleReady) {
            return Err("lasts_ms is only for the kinds pending and stale_ready".into());
        }
        Ok(())
    }
}

pub(super) type ManagerFaults = Script<ManagerFault>;

impl ManagerFaults {
    /// The fault of one of these kinds that hits work on this object.
    pub(super) fn next_for(
        &self,
        kinds: &[ManagerFaultKind],
        work: Option<Work>,
        object: &Value,
    ) -> Option<ManagerFault> {
        let is_meant = |fault: &ManagerFault| {
            kinds.contains(&fault.kind) && (fault.on.is_none() || work.is_none() || fault.on == work)
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = text(&object["metadata"]["name"]);
        let instance = text(&object["metadata"]["labels"]["kyma-project.io/instance-id"]);
        self.take(is_meant, |about| name.contains(about) || instance.contains(about))
    }

    pub(super) fn stands(&self, kind: ManagerFaultKind) -> bool {
        self.has_any(|fault| fault.kind == kind)
    }
}
