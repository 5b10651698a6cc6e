//! An instance that was launched, or a launch that has none yet.

use engine::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::launch::Addresses;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) launch_id: Uuid,
    pub(crate) reservation_id: i64,
    pub(crate) launch_state: String,
    pub(crate) provider: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) source_id: Option<String>,
    #[serde(default)]
    pub(crate) region: Option<String>,
    #[serde(default)]
    pub(crate) instance_type: Option<String>,
    #[serde(default)]
    pub(crate) image_id: Option<String>,
    pub(crate) launched_at: Timestamp,
    #[serde(default)]
    pub(crate) instance_id: Option<String>,
    #[serde(default)]
    pub(crate) state: Option<String>,
    #[serde(default)]
    pub(crate) detail: Addresses,
    /// The cloud itself said so a moment ago.
    pub(crate) live: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}
