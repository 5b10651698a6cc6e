//! What platforms send and get. Fields that are unknown are ignored, as the specification demands.

use std::collections::BTreeMap;

pub use api::OsbBody as Error;
use engine::secret::Sealed;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{body, identity};
use crate::model::InstanceRecord;

/// Nothing more to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Empty {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MaintenanceInfo {
    /// A semantic version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The body of a request for an instance.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct ProvisionBody {
    #[serde(deserialize_with = "body::text")]
    #[schema(min_length = 1)]
    pub service_id: String,
    #[serde(deserialize_with = "body::text")]
    #[schema(min_length = 1)]
    pub plan_id: String,
    #[serde(default, deserialize_with = "body::text")]
    #[schema(min_length = 1, required)]
    pub organization_guid: String,
    #[serde(default, deserialize_with = "body::text")]
    #[schema(min_length = 1, required)]
    pub space_guid: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub context: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub parameters: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maintenance_info")]
    pub maintenance_info: Option<MaintenanceInfo>,
}

impl ProvisionBody {
    /// The record of what it asks for.
    pub(crate) fn record(&self, id: &str, parameters: Sealed, context: Sealed) -> InstanceRecord {
        InstanceRecord::new(id, &self.service_id, &self.plan_id, parameters, context)
    }

    /// What makes it the same as another one.
    pub(crate) fn digest(
        &self,
        id: &str,
        context: &Map<String, Value>,
        parameters: &Map<String, Value>,
    ) -> String {
        let ProvisionBody { service_id, plan_id, organization_guid, space_guid, .. } = self;
        let context = identity::stable(context);
        identity::of(&json!([id, service_id, plan_id, organization_guid, space_guid, context, parameters]))
    }
}

/// The body of a change. Parameters are laid over the present ones, field by field at the top level; what is
/// absent stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct UpdateBody {
    #[serde(deserialize_with = "body::text")]
    #[schema(min_length = 1)]
    pub service_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maybe_text")]
    pub plan_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub context: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub parameters: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maintenance_info")]
    pub maintenance_info: Option<MaintenanceInfo>,
    /// Not looked at: the broker has its own record.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::object")]
    pub previous_values: Option<Map<String, Value>>,
}

/// The body of a request for credentials. With `predecessor_binding_id` everything else may be left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct BindBody {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maybe_text")]
    pub service_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maybe_text")]
    pub plan_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub context: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::small_object")]
    pub parameters: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::object")]
    pub bind_resource: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maybe_text")]
    pub predecessor_binding_id: Option<String>,
    /// Older than `bind_resource`; it must be text, and is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "body::maybe_text")]
    #[schema(ignore)]
    pub app_guid: Option<String>,
}

/// What is under way, or was done before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// To be sent back when the last operation is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<InstanceMetadata>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceMetadata {
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Instance {
    pub service_id: String,
    pub plan_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    pub parameters: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_info: Option<MaintenanceInfo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<InstanceMetadata>,
}

/// Credentials. It does not show them in `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Binding {
    pub credentials: Credentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BindingMetadata>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Credentials {
    pub kubeconfig: String,
}

impl std::fmt::Debug for Binding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Binding").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<secret>")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BindingMetadata {
    /// After this moment the credentials are worth nothing.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum State {
    #[serde(rename = "in progress")]
    InProgress,
    #[serde(rename = "succeeded")]
    Succeeded,
    #[serde(rename = "failed")]
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastOperation {
    pub state: State,
    /// Never empty.
    pub description: String,
    /// After a failed change or deletion: whether the instance can still be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_usable: Option<bool>,
    /// After a failed change: whether the same change may be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_repeatable: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown_in_debug() {
        let credentials = Credentials { kubeconfig: "hush".into() };
        let binding = Binding { credentials, metadata: None, parameters: Map::new() };
        assert!(!format!("{binding:?}{:?}", binding.credentials).contains("hush"));
    }
}
