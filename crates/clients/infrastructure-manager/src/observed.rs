//! What the Kubernetes API says about a runtime, read by our own types. Fields that we do not know are left alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::labels::INSTANCE_ID;

/// A runtime as it was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "RuntimeObject")]
pub struct ObservedRuntime {
    pub name: String,
    /// Another uid under the same name is another runtime.
    pub uid: String,
    /// Opaque: two of them are equal or not, and neither is the later one.
    pub resource_version: String,
    /// Counts changes of the spec, and a deletion that waits for finalizers.
    pub generation: i64,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    /// Set as soon as it is being deleted, in the form of RFC 3339.
    pub deletion_timestamp: Option<String>,
    pub spec: Value,
    /// None for a runtime that Infrastructure Manager has not looked at.
    pub state: Option<RuntimeState>,
    /// True from the first Ready on.
    pub provisioning_completed: bool,
    /// A plain list: one type can be in it more than once, and the last one counts.
    pub conditions: Vec<RuntimeCondition>,
    pub shoot_last_operation: Option<ShootLastOperation>,
    pub shoot_last_errors: Vec<ShootLastError>,
    /// Of the whole status: it changes whenever Infrastructure Manager writes something else.
    pub status_digest: String,
}

impl ObservedRuntime {
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether this runtime was made for the instance, so that a creation that met it can take it over.
    pub fn belongs_to(&self, instance_id: &str) -> bool {
        self.labels.get(INSTANCE_ID).is_some_and(|label| label == instance_id)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeState {
    Pending,
    Ready,
    Failed,
    Terminating,
    /// A state of a later release of Infrastructure Manager.
    Other(String),
}

impl From<String> for RuntimeState {
    fn from(text: String) -> RuntimeState {
        match text.as_str() {
            "Pending" => RuntimeState::Pending,
            "Ready" => RuntimeState::Ready,
            "Failed" => RuntimeState::Failed,
            "Terminating" => RuntimeState::Terminating,
            _ => RuntimeState::Other(text),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeCondition {
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub reason: String,
    pub message: String,
    pub last_transition_time: String,
}

/// What Gardener last did with the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootLastOperation {
    #[serde(rename = "type")]
    pub kind: String,
    pub state: String,
    /// In percent.
    pub progress: i64,
    pub description: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ShootLastError {
    pub description: String,
    pub codes: Vec<String>,
}

#[derive(Deserialize)]
struct RuntimeObject {
    metadata: RuntimeMetadata,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RuntimeMetadata {
    name: String,
    uid: String,
    resource_version: String,
    generation: i64,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct StatusFields {
    state: Option<String>,
    provisioning_completed: bool,
    conditions: Option<Vec<RuntimeCondition>>,
    shoot_last_operation: Option<ShootLastOperation>,
    shoot_last_errors: Option<Vec<ShootLastError>>,
}

impl From<RuntimeObject> for ObservedRuntime {
    fn from(RuntimeObject { metadata, spec, status }: RuntimeObject) -> ObservedRuntime {
        let status_digest = digest(&status);
        // A status that another release wrote in another form counts as none: waiting is never wrong.
        let fields = serde_json::from_value::<StatusFields>(status).unwrap_or_default();
        ObservedRuntime {
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            deletion_timestamp: metadata.deletion_timestamp,
            spec,
            state: fields.state.filter(|state| !state.is_empty()).map(RuntimeState::from),
            provisioning_completed: fields.provisioning_completed,
            conditions: fields.conditions.unwrap_or_default(),
            shoot_last_operation: fields.shoot_last_operation,
            shoot_last_errors: fields.shoot_last_errors.unwrap_or_default(),
            status_digest,
        }
    }
}

/// Half a SHA-256 of the JSON, whose members are sorted.
fn digest(status: &Value) -> String {
    let hash = Sha256::digest(status.to_string().as_bytes());
    http_client::hex(&hash[..16])
}
