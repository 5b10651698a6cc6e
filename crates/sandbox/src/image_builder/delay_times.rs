//! How long everything takes in Image Builder, by the clock of the sandbox.

use serde::{Deserialize, Serialize};

/// A build keeps the pace that it began with.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildDelays {
    pub(super) pending_ms: u64,
    pub(super) building_ms: u64,
    pub(super) uploading_ms: u64,
    pub(super) registering_ms: u64,
}

impl Default for BuildDelays {
    fn default() -> Self {
        BuildDelays { pending_ms: 200, building_ms: 1200, uploading_ms: 300, registering_ms: 300 }
    }
}
