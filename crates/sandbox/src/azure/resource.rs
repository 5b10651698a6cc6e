//! One resource, and its life from creating to gone.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::faults::FaultText;
use crate::ledger::{Effect, LedgerSystem};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArmKind {
    Group,
    Nsg,
    Network,
    PublicIp,
    Nic,
    Vm,
    Disk,
    Image,
}

impl ArmKind {
    pub(super) const ALL: [ArmKind; 8] = [
        ArmKind::Group,
        ArmKind::Nsg,
        ArmKind::Network,
        ArmKind::PublicIp,
        ArmKind::Nic,
        ArmKind::Vm,
        ArmKind::Disk,
        ArmKind::Image,
    ];

    pub(super) fn path(self) -> &'static str {
        match self {
            ArmKind::Group => "Microsoft.Resources/resourceGroups",
            ArmKind::Nsg => "Microsoft.Network/networkSecurityGroups",
            ArmKind::Network => "Microsoft.Network/virtualNetworks",
            ArmKind::PublicIp => "Microsoft.Network/publicIPAddresses",
            ArmKind::Nic => "Microsoft.Network/networkInterfaces",
            ArmKind::Vm => "Microsoft.Compute/virtualMachines",
            ArmKind::Disk => "Microsoft.Compute/disks",
            ArmKind::Image => "Microsoft.Compute/images",
        }
    }

    pub(super) fn of_path(path: &str) -> Option<ArmKind> {
        ArmKind::ALL
            .into_iter()
            .find(|kind| *kind != ArmKind::Group && kind.path().eq_ignore_ascii_case(path))
    }

    pub(super) fn is_compute(self) -> bool {
        matches!(self, ArmKind::Vm | ArmKind::Disk | ArmKind::Image)
    }

    pub(super) fn namespace(self) -> &'static str {
        self.path().split('/').next().unwrap_or_default()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ArmKind::Group => "group",
            ArmKind::Nsg => "nsg",
            ArmKind::Network => "network",
            ArmKind::PublicIp => "public_ip",
            ArmKind::Nic => "nic",
            ArmKind::Vm => "vm",
            ArmKind::Disk => "disk",
            ArmKind::Image => "image",
        }
    }

    /// Images come from elsewhere, and are no deed of a launch.
    pub(super) fn effect(self) -> Option<Effect> {
        (self != ArmKind::Image).then_some(Effect { system: LedgerSystem::Arm, kind: self.name() })
    }
}

/// Where a resource is, in small letters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArmKey {
    pub(super) subscription: String,
    pub(super) group: String,
    pub(super) kind: ArmKind,
    pub(super) name: String,
}

impl ArmKey {
    pub(super) fn group_key(&self) -> ArmKey {
        ArmKey { kind: ArmKind::Group, name: self.group.clone(), ..self.clone() }
    }

    /// Another resource in the same group.
    pub(super) fn beside(&self, kind: ArmKind, name: &str) -> ArmKey {
        ArmKey { kind, name: name.to_ascii_lowercase(), ..self.clone() }
    }

    /// How the ledger calls it.
    pub(super) fn ledger_token(&self) -> String {
        let ArmKey { subscription, group, name, .. } = self;
        match self.kind {
            ArmKind::Group => format!("{subscription}/{group}"),
            _ => format!("{subscription}/{group}/{name}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArmStage {
    Creating,
    Succeeded,
    Failed,
    Deleting,
}

/// What happens to a resource by itself.
#[derive(Debug, Clone)]
pub(super) enum ArmNext {
    Succeed,
    Fail(FaultText),
    /// It runs, and its operation fails.
    RunLate(FaultText),
    Vanish,
}

#[derive(Debug, Clone)]
pub(super) struct ArmResource {
    pub(super) key: ArmKey,
    /// As it was spelled when it was made.
    pub(super) group: String,
    pub(super) name: String,
    pub(super) location: String,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) sku: Option<Value>,
    pub(super) properties: Value,
    pub(super) etag: Uuid,
    pub(super) created_at: OffsetDateTime,
    pub(super) stage: ArmStage,
    pub(super) failure: Option<FaultText>,
    pub(super) next: Option<(OffsetDateTime, ArmNext)>,
    /// Of a public address.
    pub(super) address: Option<Ipv4Addr>,
    /// Of a network interface: for which instance it is kept, and until when.
    pub(super) reserved: Option<(ArmKey, OffsetDateTime)>,
}

impl ArmResource {
    pub(super) fn id(&self) -> String {
        let base = format!("/subscriptions/{}/resourceGroups/{}", self.key.subscription, self.group);
        match self.key.kind {
            ArmKind::Group => base,
            kind => format!("{base}/providers/{}/{}", kind.path(), self.name),
        }
    }

    pub(super) fn state(&self) -> &'static str {
        match (self.stage, self.key.kind) {
            (ArmStage::Creating, kind) if kind.is_compute() => "Creating",
            (ArmStage::Creating, _) => "Updating",
            (ArmStage::Succeeded, _) => "Succeeded",
            (ArmStage::Failed, _) => "Failed",
            (ArmStage::Deleting, _) => "Deleting",
        }
    }

    /// It takes room, and its owner pays for it.
    pub(super) fn is_living(&self) -> bool {
        self.key.kind == ArmKind::Vm && matches!(self.stage, ArmStage::Creating | ArmStage::Succeeded)
    }

    /// Also when its operation failed because the guest was late.
    pub(super) fn is_running(&self) -> bool {
        let is_late = self.stage == ArmStage::Failed
            && self.failure.as_ref().is_some_and(|why| why.code == "OSProvisioningTimedOut");
        self.key.kind == ArmKind::Vm && (self.stage == ArmStage::Succeeded || is_late)
    }

    /// The texts at a pointer into each item of a list.
    pub(super) fn each<'a>(&'a self, list: &str, pointer: &'a str) -> impl Iterator<Item = &'a Value> {
        let items = self.properties.pointer(list).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(move |item| item.pointer(pointer))
    }
}
