//! An image of the Image Builder, and what was launched from it.

use crate::model::cloud::ProviderKind;
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::launch::Progress;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) id: Uuid,
    #[serde(default)]
    pub(crate) name: Option<String>,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) status: Option<String>,
    #[serde(default)]
    pub(crate) progress: Option<Progress>,
    #[serde(default)]
    pub(crate) architecture: Option<String>,
    #[serde(default)]
    pub(crate) image_type: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) launches: Vec<LaunchOfImage>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LaunchOfImage {
    pub(crate) id: Uuid,
    pub(crate) state: String,
    pub(crate) instances: usize,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Image {
    pub(crate) fn is_ready(&self) -> bool {
        self.status.as_deref() == Some("success")
    }

    /// Whether this provider can start it.
    pub(crate) fn is_for(&self, provider: &str) -> bool {
        let provider = provider.parse::<ProviderKind>();
        let kinds = provider.map_or(&[][..], |provider| provider.spec().build.image_types);
        self.image_type.as_deref().is_some_and(|kind| kinds.contains(&kind))
    }
}
