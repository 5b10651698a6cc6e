//! Orchestrations: upgrades of many runtimes. One record for the orchestration, and one for each runtime that it has to
//! upgrade, so that a change of one runtime writes one row.

pub mod decide;
pub mod select;
pub mod window;

use engine::{OperationId, Resource, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::backend::ClusterVersions;

/// More at once than any Provisioner takes; the record names each that is being upgraded.
pub const WORKERS_MAX: u32 = 100;
/// How many lines of targets one request may have.
pub const TARGETS_MAX: usize = 1000;

/// What an orchestration upgrades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UpgradeKind {
    /// Kubernetes and the image of the nodes.
    #[serde(rename = "upgradeCluster")]
    Cluster,
    #[serde(rename = "upgradeKyma")]
    Kyma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum OrchestrationState {
    /// The runtimes are being chosen, or the time to begin has not come.
    #[serde(rename = "pending")]
    Pending,
    #[serde(rename = "in progress")]
    InProgress,
    /// Nothing new begins until it is resumed.
    #[serde(rename = "paused")]
    Paused,
    /// Nothing new begins, and what runs is waited for.
    #[serde(rename = "canceling")]
    Canceling,
    #[serde(rename = "canceled")]
    Canceled,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
    /// What failed is being put back into the queue.
    #[serde(rename = "retrying")]
    Retrying,
}

impl OrchestrationState {
    pub const ALL: [OrchestrationState; 8] = [
        OrchestrationState::Pending,
        OrchestrationState::InProgress,
        OrchestrationState::Paused,
        OrchestrationState::Canceling,
        OrchestrationState::Canceled,
        OrchestrationState::Succeeded,
        OrchestrationState::Failed,
        OrchestrationState::Retrying,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            OrchestrationState::Pending => "pending",
            OrchestrationState::InProgress => "in progress",
            OrchestrationState::Paused => "paused",
            OrchestrationState::Canceling => "canceling",
            OrchestrationState::Canceled => "canceled",
            OrchestrationState::Succeeded => "succeeded",
            OrchestrationState::Failed => "failed",
            OrchestrationState::Retrying => "retrying",
        }
    }

    pub fn is_final(self) -> bool {
        matches!(
            self,
            OrchestrationState::Canceled | OrchestrationState::Succeeded | OrchestrationState::Failed
        )
    }
}

/// How far the upgrade of one runtime is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum TargetState {
    #[serde(rename = "pending")]
    Pending,
    #[serde(rename = "in progress")]
    InProgress,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
    /// The orchestration was cancelled before it began.
    #[serde(rename = "canceled")]
    Canceled,
    /// There is nothing to upgrade any longer: it is suspended, or being deprovisioned.
    #[serde(rename = "skipped")]
    Skipped,
}

impl TargetState {
    pub const ALL: [TargetState; 6] = [
        TargetState::Pending,
        TargetState::InProgress,
        TargetState::Succeeded,
        TargetState::Failed,
        TargetState::Canceled,
        TargetState::Skipped,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            TargetState::Pending => "pending",
            TargetState::InProgress => "in progress",
            TargetState::Succeeded => "succeeded",
            TargetState::Failed => "failed",
            TargetState::Canceled => "canceled",
            TargetState::Skipped => "skipped",
        }
    }

    pub fn is_final(self) -> bool {
        !matches!(self, TargetState::Pending | TargetState::InProgress)
    }
}

/// Which runtimes: one line must fit whole, and no line of `exclude`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    pub include: Vec<RuntimeTarget>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<RuntimeTarget>,
}

/// One line of targets: every member that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuntimeTarget {
    /// `all`: every runtime.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// A regular expression.
    #[serde(rename = "globalAccount", skip_serializing_if = "String::is_empty")]
    pub global_account: String,
    /// A regular expression.
    #[serde(rename = "subAccount", skip_serializing_if = "String::is_empty")]
    pub sub_account: String,
    /// A regular expression, for the region of the cloud.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    #[serde(rename = "runtimeID", skip_serializing_if = "String::is_empty")]
    pub runtime_id: String,
    #[serde(rename = "planName", skip_serializing_if = "String::is_empty")]
    pub plan_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shoot: String,
    #[serde(rename = "instanceID", skip_serializing_if = "String::is_empty")]
    pub instance_id: String,
    /// A label of the record, such as `cloud_account=shared-azure`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
}

/// What changes in each runtime. What is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kyma_version: Option<String>,
}

impl Change {
    pub fn versions(&self) -> ClusterVersions {
        ClusterVersions {
            kubernetes: self.kubernetes_version.clone(),
            machine_image: self.machine_image.clone(),
            machine_image_version: self.machine_image_version.clone(),
        }
    }

    pub fn changes_cluster(&self) -> bool {
        self.kubernetes_version.is_some()
            || self.machine_image.is_some()
            || self.machine_image_version.is_some()
    }
}

/// How it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strategy {
    /// How many runtimes are upgraded at a time.
    pub workers: u32,
    /// Each runtime in its own maintenance window.
    #[serde(default)]
    pub in_window: bool,
    /// Not before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_at: Option<Timestamp>,
    /// After so many it pauses, until an operator resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<u32>,
    /// After so many failures nothing new begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<u32>,
}

/// A runtime that is being upgraded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningTarget {
    pub instance_id: String,
    pub attempt: u32,
    /// Not known when the process died right after it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Failed upgrades that an operator wants to have tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRequest {
    /// Their ids; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Without waiting for maintenance windows.
    #[serde(default)]
    pub immediate: bool,
}

/// How long finished upgrades took, for the estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    pub count: u64,
    pub total_ms: u64,
}

/// An orchestration. What is true of single runtimes is in their records; this one has only those that run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrchestrationRecord {
    pub id: String,
    pub kind: UpgradeKind,
    pub state: OrchestrationState,
    pub description: String,
    pub created_by: String,
    pub targets: TargetSpec,
    pub change: Change,
    pub strategy: Strategy,
    /// The last number of the instances that were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_until: Option<i64>,
    /// All instances were looked at.
    #[serde(default)]
    pub is_resolved: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningTarget>,
    /// How many were begun in all.
    #[serde(default)]
    pub begun: u64,
    /// How many have failed since it began, was resumed or tried again.
    #[serde(default)]
    pub failures: u32,
    #[serde(default)]
    pub is_canary_over: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRequest>,
    #[serde(default)]
    pub durations: Durations,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

impl Resource for OrchestrationRecord {
    const KIND: &'static str = "orchestration";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("state", self.state.as_str().to_owned())]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.finished_at
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.due_at
    }
}

impl OrchestrationRecord {
    pub fn resource(id: &str) -> String {
        format!("orchestration:{id}")
    }
}

/// One runtime that an orchestration has to upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    pub orchestration: String,
    /// By which the API knows it, from before it begins until after its last try.
    pub id: Uuid,
    pub instance_id: String,
    pub runtime_id: String,
    pub account: String,
    pub subaccount: String,
    pub plan_id: String,
    pub plan: String,
    pub region: String,
    pub shoot: String,
    pub state: TargetState,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Goes up when it is tried again.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// It does not wait for a maintenance window.
    #[serde(default)]
    pub is_immediate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<window::Opening>,
    /// Not before this time.
    pub begins_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

impl Resource for TargetRecord {
    const KIND: &'static str = "orchestration_target";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![
            ("orchestration", self.orchestration.clone()),
            ("progress", TargetRecord::progress(&self.orchestration, self.state)),
            ("operation_id", self.id.to_string()),
        ]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.finished_at
    }

    fn due_at(&self) -> Option<Timestamp> {
        (self.state == TargetState::Pending).then_some(self.begins_at)
    }
}

impl TargetRecord {
    pub fn resource(orchestration: &str, instance_id: &str) -> String {
        format!("upgrade:{orchestration}:{instance_id}")
    }

    /// The label of all targets of one orchestration in one state, so that the index alone counts them.
    pub fn progress(orchestration: &str, state: TargetState) -> String {
        format!("{orchestration}/{}", state.as_str())
    }

    /// The same for the same orchestration and instance for ever.
    pub fn id_of(orchestration: &str, instance_id: &str) -> Uuid {
        let digest = Sha256::digest(format!("{orchestration}\n{instance_id}").as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    /// The operation that upgrades it is begun once under this key.
    pub fn key(orchestration: &str, instance_id: &str, attempt: u32) -> String {
        format!("upgrade:{orchestration}:{instance_id}:{attempt}")
    }
}
