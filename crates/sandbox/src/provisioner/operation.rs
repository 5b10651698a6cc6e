//! Operations of the provisioner: what kinds there are, through which stages they go, and what they say.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum OperationKind {
    Provision,
    ProvisionNoInstall,
    Upgrade,
    UpgradeShoot,
    Deprovision,
    DeprovisionNoInstall,
    Hibernate,
}

/// Each stage with its share of the time, which is its limit in minutes.
type Stages = &'static [(&'static str, u32)];

const PROVISION: Stages = &[
    ("WaitingForClusterDomain", 10),
    ("WaitingForClusterCreation", 60),
    ("StartingInstallation", 20),
    ("WaitingForInstallation", 60),
    ("ConnectRuntimeAgent", 15),
    ("WaitForAgentToConnect", 15),
];
const PROVISION_NO_INSTALL: Stages = &[("WaitingForClusterDomain", 10), ("WaitingForClusterCreation", 60)];
const DEPROVISION: Stages = &[
    ("CleanupCluster", 20),
    ("TriggerKymaUninstall", 5),
    ("DeprovisionCluster", 30),
    ("WaitForClusterDeletion", 60),
];
const DEPROVISION_NO_INSTALL: Stages = &[("DeprovisionCluster", 30), ("WaitForClusterDeletion", 60)];
const UPGRADE: Stages =
    &[("StartingUpgrade", 10), ("WaitingForInstallation", 60), ("UpdatingUpgradeState", 5)];
const UPGRADE_SHOOT: Stages = &[("WaitingForShootUpgrade", 60), ("WaitingForShootNewVersion", 60)];
const HIBERNATE: Stages = &[("WaitForHibernation", 60)];

impl OperationKind {
    fn name(self) -> &'static str {
        match self {
            OperationKind::Provision => "Provision",
            OperationKind::ProvisionNoInstall => "ProvisionNoInstall",
            OperationKind::Upgrade => "Upgrade",
            OperationKind::UpgradeShoot => "UpgradeShoot",
            OperationKind::Deprovision => "Deprovision",
            OperationKind::DeprovisionNoInstall => "DeprovisionNoInstall",
            OperationKind::Hibernate => "Hibernate",
        }
    }

    fn stages(self) -> Stages {
        match self {
            OperationKind::Provision => PROVISION,
            OperationKind::ProvisionNoInstall => PROVISION_NO_INSTALL,
            OperationKind::Upgrade => UPGRADE,
            OperationKind::UpgradeShoot => UPGRADE_SHOOT,
            OperationKind::Deprovision => DEPROVISION,
            OperationKind::DeprovisionNoInstall => DEPROVISION_NO_INSTALL,
            OperationKind::Hibernate => HIBERNATE,
        }
    }

    fn started_message(self) -> &'static str {
        match self {
            OperationKind::Provision | OperationKind::ProvisionNoInstall => "Provisioning started",
            OperationKind::Deprovision | OperationKind::DeprovisionNoInstall => "Deprovisioning started",
            OperationKind::Upgrade => "Upgrade started",
            OperationKind::UpgradeShoot => "Shoot upgrade started",
            OperationKind::Hibernate => "Hibernation started",
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone)]
pub(super) struct SimulatedError {
    pub(super) message: String,
    pub(super) reason: String,
    pub(super) component: String,
}

#[derive(Debug, Clone)]
pub(super) struct SimulatedOperation {
    pub(super) id: String,
    pub(super) runtime_id: String,
    pub(super) kind: OperationKind,
    pub(super) started_at: OffsetDateTime,
    pub(super) lasts: Duration,
    /// What it will fail with at its end.
    pub(super) failure: Option<SimulatedError>,
    /// Its end was reached and what follows from that was done.
    pub(super) is_over: bool,
}

impl SimulatedOperation {
    pub(super) fn ends_at(&self) -> OffsetDateTime {
        self.started_at + self.lasts
    }

    /// What the call that started it answers.
    pub(super) fn started(&self) -> Value {
        self.status("InProgress", self.kind.started_message(), None)
    }

    pub(super) fn at(&self, now: OffsetDateTime) -> Value {
        match &self.failure {
            _ if !self.is_over => {
                self.status("InProgress", &format!("Operation in progress. Stage {}", self.stage(now)), None)
            }
            Some(error) => self.status("Failed", &error.message, Some(error)),
            None => self.status("Succeeded", "Operation succeeded", None),
        }
    }

    fn status(&self, state: &str, message: &str, error: Option<&SimulatedError>) -> Value {
        json!({
            "id": self.id,
            "operation": self.kind.name(),
            "state": state,
            "message": message,
            "runtimeID": self.runtime_id,
            "lastError": error.map(|error| json!({
                "errMessage": error.message,
                "reason": error.reason,
                "component": error.component,
            })),
        })
    }

    fn stage(&self, now: OffsetDateTime) -> &'static str {
        let stages = self.kind.stages();
        let minutes: u32 = stages.iter().map(|(_, minutes)| minutes).sum();
        let elapsed = Duration::try_from(now - self.started_at).unwrap_or_default();
        let mut until = Duration::ZERO;
        for (name, share) in stages {
            until += self.lasts * *share / minutes;
            if elapsed < until {
                return name;
            }
        }
        "Finished"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_share_the_time_by_their_limits() {
        let operation = SimulatedOperation {
            id: "op".into(),
            runtime_id: "rt".into(),
            kind: OperationKind::Provision,
            started_at: OffsetDateTime::UNIX_EPOCH,
            lasts: Duration::from_secs(180),
            failure: None,
            is_over: false,
        };
        let stage = |seconds| operation.stage(OffsetDateTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let seen: Vec<&str> = [0, 9, 10, 69, 70, 90, 150, 165, 179, 180].map(stage).into();
        let expected = [
            "WaitingForClusterDomain",
            "WaitingForClusterDomain",
            "WaitingForClusterCreation",
            "WaitingForClusterCreation",
            "StartingInstallation",
            "WaitingForInstallation",
            "ConnectRuntimeAgent",
            "WaitForAgentToConnect",
            "WaitForAgentToConnect",
            "Finished",
        ];
        assert_eq!(seen, expected);
    }
}
