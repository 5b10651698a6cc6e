//! The record of one binding: credentials for a runtime, for a time.

use engine::secret::Sealed;
use engine::{Resource, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    pub instance_id: String,
    pub binding_id: String,
    pub service_id: String,
    pub plan_id: String,
    /// The runtime in whose cluster its service account is. Absent in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// The platform of its instance. Empty in records of earlier releases.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platform: String,
    /// Tells one request from another without keeping it.
    pub digest: String,
    /// JSON of the parameters.
    pub parameters: Sealed,
    /// The kubeconfig, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

impl Resource for Binding {
    const KIND: &'static str = "binding";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("instance_id", self.instance_id.clone())]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.expires_at.filter(|_| self.gone_at.is_none())
    }
}

impl Binding {
    /// A record with nothing in it but what every record has.
    pub fn new(
        instance_id: &str,
        binding_id: &str,
        service_id: &str,
        plan_id: &str,
        parameters: Sealed,
    ) -> Binding {
        Binding {
            instance_id: instance_id.to_owned(),
            binding_id: binding_id.to_owned(),
            service_id: service_id.to_owned(),
            plan_id: plan_id.to_owned(),
            runtime_id: None,
            platform: String::new(),
            digest: String::new(),
            parameters,
            kubeconfig: None,
            expires_at: None,
            gone_at: None,
        }
    }

    /// The name under which operations on this binding exclude each other.
    pub fn resource(instance_id: &str, binding_id: &str) -> String {
        format!("binding:{instance_id}/{binding_id}")
    }
}
