//! Orchestrations on the wire. The names of the members are those of the broker whose place this takes; what it did not
//! have stands beside them.

use std::collections::BTreeMap;

use api::types::WireTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::api::types::wire_page;
use crate::model::orchestration::{OrchestrationState, TargetSpec, TargetState, UpgradeKind};

/// Which runtimes to upgrade, to what, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpgradeRequest {
    #[schema(required)]
    pub targets: TargetSpec,
    pub strategy: StrategySpec,
    /// Lists the targets and what would be sent, and changes nothing.
    pub dry_run: bool,
    /// Of `/upgrade/cluster`. Without a version: the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesVersions>,
    /// Of `/upgrade/kyma`. Without a version: the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kyma: Option<KymaVersionSpec>,
    /// The same as `kyma.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kyma_version: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KubernetesVersions {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine_image: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine_image_version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KymaVersionSpec {
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StrategySpec {
    /// `parallel`, which is the only one.
    #[serde(rename = "type")]
    pub kind: String,
    /// `immediate`, `maintenanceWindow`, or a time at which it begins.
    pub schedule: String,
    /// The time at which it begins. With `maintenanceWindow` the first window after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_time: Option<String>,
    pub parallel: ParallelSpec,
    /// After so many runtimes it pauses until it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub canary: Option<u32>,
    /// After so many failures no further runtime is begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_failures: Option<u32>,
}

impl Default for StrategySpec {
    fn default() -> Self {
        StrategySpec {
            kind: "parallel".to_owned(),
            schedule: "immediate".to_owned(),
            schedule_time: None,
            parallel: ParallelSpec::default(),
            canary: None,
            max_failures: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ParallelSpec {
    /// How many runtimes are upgraded at a time: 1 to 100.
    #[schema(minimum = 1, maximum = 100)]
    pub workers: u32,
}

impl Default for ParallelSpec {
    fn default() -> Self {
        ParallelSpec { workers: 1 }
    }
}

/// The orchestration that was begun or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartedOrchestration {
    #[serde(rename = "orchestrationID")]
    pub orchestration_id: Uuid,
    /// Runtimes that fit and whose back end has no such upgrade. Each of them is listed as skipped.
    #[serde(rename = "skippedCount", default, skip_serializing_if = "is_zero")]
    pub skipped_count: usize,
}

/// What an upgrade would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradePreview {
    pub dry_run: bool,
    /// The first 1000 of them.
    pub data: Vec<UpgradePreviewTarget>,
    pub count: usize,
    pub total_count: usize,
    /// Runtimes that fit and whose back end has no such upgrade: the first 1000 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedTarget>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedTarget {
    #[serde(rename = "instanceID")]
    pub instance_id: String,
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    pub service_plan_name: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradePreviewTarget {
    #[serde(rename = "instanceID")]
    pub instance_id: String,
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    #[serde(rename = "globalAccountID")]
    pub global_account_id: String,
    #[serde(rename = "subAccountID")]
    pub sub_account_id: String,
    pub service_plan_name: String,
    pub region: String,
    pub shoot_name: String,
    /// When it may begin.
    pub begins_at: WireTime,
    /// What would be sent. Overrides are added when it is sent.
    #[schema(value_type = Object)]
    pub request: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrchestrationStatus {
    #[serde(rename = "orchestrationID")]
    pub orchestration_id: Uuid,
    #[serde(rename = "type")]
    pub kind: UpgradeKind,
    pub state: OrchestrationState,
    pub description: String,
    pub created_at: WireTime,
    pub updated_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<WireTime>,
    pub created_by: String,
    pub parameters: UpgradeRequest,
    /// How many runtimes are in each state. Not in lists.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operation_stats: BTreeMap<String, u64>,
    /// How long it will take at the pace until now, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_seconds: Option<u64>,
}

wire_page! {
    /// One page of orchestrations, oldest first.
    OrchestrationPage of OrchestrationStatus
}

/// The upgrade of one runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpgradeOperation {
    #[serde(rename = "operationID")]
    pub operation_id: Uuid,
    #[serde(rename = "instanceID")]
    pub instance_id: String,
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    #[serde(rename = "globalAccountID")]
    pub global_account_id: String,
    #[serde(rename = "subAccountID")]
    pub sub_account_id: String,
    #[serde(rename = "orchestrationID")]
    pub orchestration_id: String,
    #[serde(rename = "servicePlanID")]
    pub service_plan_id: String,
    #[serde(rename = "servicePlanName")]
    pub service_plan_name: String,
    pub region: String,
    #[serde(rename = "dryRun")]
    pub dry_run: bool,
    #[serde(rename = "shootName")]
    pub shoot_name: String,
    #[serde(rename = "maintenanceWindowBegin", default, skip_serializing_if = "Option::is_none")]
    pub maintenance_window_begin: Option<WireTime>,
    #[serde(rename = "maintenanceWindowEnd", default, skip_serializing_if = "Option::is_none")]
    pub maintenance_window_end: Option<WireTime>,
    pub state: TargetState,
    pub description: String,
    /// The operation of the engine, from when it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Uuid>,
    /// The configuration of the cluster that is sent. Only where one operation is asked for.
    #[serde(rename = "clusterConfig", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub cluster_config: Option<Value>,
    /// The configuration of Kyma that is sent. Only where one operation is asked for.
    #[serde(rename = "kymaConfig", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub kyma_config: Option<Value>,
}

wire_page! {
    /// One page of upgrades, in the order in which the runtimes were chosen.
    UpgradeOperationPage of UpgradeOperation
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OrchestrationQuery {
    /// May be given more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// Counts from 1. A cursor is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub page: Option<u32>,
    /// 1 to 1000; 100 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub page_size: Option<u16>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which failed upgrades to try again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryBody {
    /// Ids of operations; none means all that failed.
    pub operations: Vec<String>,
    /// Without waiting for maintenance windows.
    pub immediate: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryAnswer {
    #[serde(rename = "orchestrationID")]
    pub orchestration_id: Uuid,
    pub retry_shoots: Vec<String>,
    /// Always empty: an older try has no id of its own.
    pub old_operations: Vec<String>,
    /// Ids that were asked for and have not failed.
    pub invalid_operations: Vec<String>,
    pub msg: String,
}
