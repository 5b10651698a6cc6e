//! The Kyma resource, which Lifecycle Manager acts on.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What is written. Lifecycle Manager copies the spec to the cluster once; later changes of it have no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct KymaResource {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub spec: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KymaState {
    Ready,
    Processing,
    Warning,
    Error,
    Deleting,
    /// A state of a later release of Lifecycle Manager.
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "KymaObject")]
pub struct ObservedKyma {
    pub name: String,
    pub uid: String,
    pub labels: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    pub deletion_timestamp: Option<String>,
    pub state: Option<KymaState>,
    pub modules: Vec<KymaModule>,
}

impl ObservedKyma {
    /// What is left of one whose deletion does not end: its modules with their states, else its finalizers.
    pub fn leftovers(&self) -> Vec<String> {
        let described = |module: &KymaModule| match module.message.as_str() {
            "" => format!("module {} ({})", module.name, module.state),
            message => {
                format!("module {} ({}: {})", module.name, module.state, http_client::shorten(message))
            }
        };
        if self.modules.is_empty() {
            self.finalizers.iter().map(|finalizer| format!("finalizer {finalizer}")).collect()
        } else {
            self.modules.iter().map(described).collect()
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KymaModule {
    pub name: String,
    pub state: String,
    pub message: String,
}

#[derive(Deserialize)]
struct KymaObject {
    metadata: KymaMetadata,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct KymaMetadata {
    name: String,
    uid: String,
    labels: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KymaStatusFields {
    state: Option<String>,
    modules: Option<Vec<KymaModule>>,
}

impl From<KymaObject> for ObservedKyma {
    fn from(KymaObject { metadata, status }: KymaObject) -> ObservedKyma {
        let fields = serde_json::from_value::<KymaStatusFields>(status).unwrap_or_default();
        ObservedKyma {
            name: metadata.name,
            uid: metadata.uid,
            labels: metadata.labels.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            deletion_timestamp: metadata.deletion_timestamp,
            state: fields.state.filter(|state| !state.is_empty()).map(KymaState::from),
            modules: fields.modules.unwrap_or_default(),
        }
    }
}

impl From<String> for KymaState {
    fn from(text: String) -> KymaState {
        match text.as_str() {
            "Ready" => KymaState::Ready,
            "Processing" => KymaState::Processing,
            "Warning" => KymaState::Warning,
            "Error" => KymaState::Error,
            "Deleting" => KymaState::Deleting,
            _ => KymaState::Other(text),
        }
    }
}
