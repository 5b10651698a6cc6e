//! Runtimes on the wire. The names of the members are those of the broker whose place this takes.

use engine::store::{ResourcePage, ResourceQuery, ResourceRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use api::types::WireTime;

use super::operators::filter;

/// A service instance and the runtime that stands for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Runtime {
    #[serde(rename = "instanceID")]
    pub instance_id: String,
    /// Empty until there is one.
    #[serde(rename = "runtimeID")]
    pub runtime_id: String,
    #[serde(rename = "globalAccountID")]
    pub global_account_id: String,
    #[serde(rename = "subAccountID")]
    pub sub_account_id: String,
    /// The region of the cloud.
    pub region: String,
    /// The region of the platform.
    #[serde(rename = "subAccountRegion")]
    pub sub_account_region: String,
    #[serde(rename = "shootName")]
    pub shoot_name: String,
    #[serde(rename = "serviceClassID")]
    pub service_class_id: String,
    #[serde(rename = "serviceClassName")]
    pub service_class_name: String,
    #[serde(rename = "servicePlanID")]
    pub service_plan_id: String,
    #[serde(rename = "servicePlanName")]
    pub service_plan_name: String,
    pub provider: String,
    #[serde(rename = "userID")]
    pub user_id: String,
    #[serde(rename = "dashboardURL", default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    pub status: RuntimeStatus,
    /// Only where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bindings: Option<Vec<RuntimeBinding>>,
    /// With `runtime_config=true`: what the cluster was asked to be, in the form of a `Runtime` resource.
    #[serde(rename = "runtimeConfig", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub runtime_config: Option<Value>,
    /// With `kyma_config=true`: which Kyma was asked for.
    #[serde(rename = "kymaConfig", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub kyma_config: Option<Value>,
    /// With `cluster_config=true`: the size and the place of the cluster.
    #[serde(rename = "clusterConfig", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub cluster_config: Option<Value>,
    /// With `actions=true`: changes of its plan and of its account, the newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<RuntimeAction>>,
}

/// A change of the plan or of the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeAction {
    /// `plan_update` or `subaccount_movement`.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    pub old_value: String,
    pub new_value: String,
    pub created_at: WireTime,
}

/// Where a runtime is in its life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeStatus {
    pub created_at: WireTime,
    pub modified_at: WireTime,
    /// When the time of its plan will be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<WireTime>,
    /// Since when it is suspended for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_at: Option<WireTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<WireTime>,
    pub state: RuntimeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<RuntimeOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprovisioning: Option<RuntimeOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<RuntimeOperations>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<RuntimeOperations>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsuspension: Option<RuntimeOperations>,
    /// Clean-up that had to be given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_completed: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeState {
    Succeeded,
    /// To provision, resume, suspend or deprovision it has failed.
    Failed,
    /// An update has failed; it works as before.
    Error,
    /// Also while it comes back from being suspended.
    Provisioning,
    /// Also while it is being suspended.
    Deprovisioning,
    Deprovisioned,
    /// It is gone, but some clean-up had to be given up.
    DeprovisionIncomplete,
    /// An orchestration upgrades it.
    Upgrading,
    Updating,
    Suspended,
}

/// The newest operation of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeOperation {
    /// `in progress`, `succeeded` or `failed`.
    #[schema(example = "in progress")]
    pub state: String,
    pub description: String,
    #[serde(rename = "createdAt")]
    pub created_at: WireTime,
    #[serde(rename = "operationID")]
    pub operation_id: Uuid,
}

/// A list of operations, the newest first: of the newest alone with `op_detail=last`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeOperations {
    pub data: Vec<RuntimeOperation>,
    pub total_count: usize,
    pub count: usize,
}

/// A binding, without its credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeBinding {
    pub id: String,
    pub created_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<WireTime>,
    pub kubeconfig_exists: bool,
}

/// What happened to one of several runtimes, with the names of the broker whose place this takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InstanceEvent {
    #[serde(rename = "ID")]
    pub id: String,
    /// `info` or `error`.
    #[serde(rename = "Level")]
    pub level: String,
    #[serde(rename = "InstanceID")]
    pub instance_id: String,
    #[serde(rename = "OperationID")]
    pub operation_id: Uuid,
    #[serde(rename = "Message")]
    pub message: String,
    #[serde(rename = "CreatedAt")]
    pub created_at: WireTime,
}

/// The version of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgramVersion {
    #[schema(example = "0.3.0")]
    pub version: String,
}

/// One page of a list as it is put together.
pub(crate) struct Page<T> {
    pub(crate) data: Vec<T>,
    pub(crate) total_count: Option<u64>,
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Of the rows of a query for one row more than `size`, which says whether there is another page. A row that cannot be
    /// read is left out.
    pub(crate) fn of(
        found: ResourcePage,
        size: usize,
        wanted: &ResourceQuery,
        read: impl FnMut(ResourceRow) -> Option<T>,
    ) -> Page<T> {
        let last = found.rows.get(size).and(found.rows.get(size - 1));
        let next = last.map(|last| filter::cursor(wanted, last.number));
        let data = found.rows.into_iter().take(size).filter_map(read).collect();
        Page { data, total_count: found.total, next }
    }

    /// The same page with each of its rows shown.
    pub(crate) fn map<S>(self, show: impl FnMut(T) -> S) -> Page<S> {
        let Page { data, total_count, next } = self;
        Page { data: data.into_iter().map(show).collect(), total_count, next }
    }
}

/// A page on the wire. Each has a name of its own, because the description of the API would repeat the schema of what is on
/// a generic one.
macro_rules! wire_page {
    ($(#[$about:meta])* $name:ident of $item:ty) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            pub data: Vec<$item>,
            /// How many are on this page.
            pub count: usize,
            /// How many there are on all pages. Not counted again for the pages after a cursor.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub total_count: Option<u64>,
            /// Where there is more: the value of `cursor` that brings it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub next: Option<String>,
        }

        impl From<$crate::api::types::Page<$item>> for $name {
            fn from(page: $crate::api::types::Page<$item>) -> $name {
                let $crate::api::types::Page { data, total_count, next } = page;
                $name { count: data.len(), data, total_count, next }
            }
        }
    };
}
pub(crate) use wire_page;

wire_page! {
    /// One page of runtimes.
    RuntimePage of Runtime
}

/// Which runtimes are wanted. All filters but `expired` may be given more than once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RuntimeQuery {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subaccount: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instance_id: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtime_id: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shoot: Vec<String>,
    /// The name of a plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// A state, or `all`: without this, what is deprovisioned is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// Whether the time of the plan is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
    /// Also show the bindings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bindings: Option<bool>,
    /// Only those with bindings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_bindings: Option<bool>,
    /// Also show what the cluster was asked to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_config: Option<bool>,
    /// Also show which Kyma was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kyma_config: Option<bool>,
    /// Also show the size and the place of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_config: Option<bool>,
    /// Also show changes of the plan and of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<bool>,
    /// `last`: with each runtime comes its newest operation. `all`: its newest operations of each kind. Without it
    /// `last`, and with `compat.keb` `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_detail: Option<String>,
    /// Counts from 1. A cursor is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub page: Option<u32>,
    /// 1 to 100; 100 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 100)]
    pub page_size: Option<u16>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// `-created_at`: newest first, as without it. `created_at`: oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
}

/// A runtime as an older release of the broker listed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInfo {
    pub runtime_id: String,
    pub service_instance_id: String,
    pub global_account_id: String,
    pub subaccount_id: String,
    pub service_class_id: String,
    pub service_class_name: String,
    pub service_plan_id: String,
    pub service_plan_name: String,
    pub status: RuntimeInfoStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInfoStatus {
    pub created_at: WireTime,
    pub updated_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<WireTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<RuntimeInfoOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprovisioning: Option<RuntimeInfoOperation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeInfoOperation {
    pub state: String,
    pub description: String,
}

/// What happened to a runtime, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeEvents {
    pub items: Vec<RuntimeEvent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeEvent {
    pub at: WireTime,
    pub level: Level,
    pub operation: Uuid,
    pub workflow: String,
    /// One sentence for people.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    /// It may heal by itself.
    Warning,
    Error,
}

/// The operation that was started, or that does already what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Started {
    pub operation: Uuid,
}

/// Why an operator steps in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Goes into the audit log: 1 to 500 characters.
    pub reason: String,
}
