//! Answers of service brokers, as little as the specification promises: those of others differ from ours.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use crate::api::osb::wire::State;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Catalog {
    pub(crate) services: Vec<ServiceOffering>,
}

/// A service offering. The secret of its dashboard client is left out, so that it can be printed.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the API has them")]
pub(crate) struct ServiceOffering {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) bindable: bool,
    #[serde(default)]
    pub(crate) instances_retrievable: bool,
    #[serde(default)]
    pub(crate) bindings_retrievable: bool,
    #[serde(default)]
    pub(crate) allow_context_updates: bool,
    #[serde(default)]
    pub(crate) plan_updateable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
    pub(crate) plans: Vec<ServicePlan>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServicePlan {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) free: Option<bool>,
    /// What the service says, unless the plan says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bindable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan_updateable: Option<bool>,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) maximum_polling_duration: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schemas: Option<Value>,
}

/// The answer to a change of an instance, and to an unbind.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Changed {
    pub(crate) operation: Option<String>,
    pub(crate) dashboard_url: Option<String>,
    pub(crate) metadata: Option<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServiceInstance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dashboard_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Binding {
    #[serde(skip_serializing)]
    pub(crate) operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) credentials: Option<Credentials>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoints: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) syslog_drain_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route_service_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) volume_mounts: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
}

/// What a binding opens. It serializes, because `bind` prints it, and shows itself nowhere else.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Credentials(pub(crate) Map<String, Value>);

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LastOperation {
    pub(crate) state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_usable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update_repeatable: Option<bool>,
}

/// One page of the list that only a provision-engine has.
#[derive(Debug, Deserialize)]
pub(crate) struct RuntimePage {
    pub(crate) data: Vec<Value>,
    pub(crate) next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_show_themselves_to_no_one_who_debugs() {
        let binding: Binding = serde_json::from_str(r#"{"credentials": {"password": "s3cret"}}"#).unwrap();
        assert!(format!("{binding:?}").contains("<secret>"));
        assert!(!format!("{binding:?}").contains("s3cret"));
    }

    #[test]
    fn the_secret_of_a_dashboard_client_does_not_stay() {
        let read: ServiceOffering = serde_json::from_value(serde_json::json!({
            "id": "s", "name": "n", "plans": [], "dashboard_client": {"id": "d", "secret": "s3cret"},
        }))
        .unwrap();
        assert!(!serde_json::to_string(&read).unwrap().contains("s3cret"));
    }
}
