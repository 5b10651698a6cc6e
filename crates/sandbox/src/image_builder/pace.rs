//! How long everything takes in Image Builder, by the clock of the sandbox.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// A day; whoever wants to wait longer can turn the clock, or hold a build.
const LASTS_MS_MAX: u64 = 24 * 3600 * 1000;

/// A build keeps the pace that it began with.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pace {
    pub(super) pending_ms: u64,
    pub(super) building_ms: u64,
    pub(super) uploading_ms: u64,
    pub(super) registering_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { pending_ms: 200, building_ms: 1200, uploading_ms: 300, registering_ms: 300 }
    }
}

impl Pace {
    /// What is not named keeps its value.
    pub(super) fn change(self, named: Map<String, Value>) -> Result<Self, String> {
        let mut all = json!(self);
        for (name, value) in named {
            if value.as_u64().is_some_and(|lasts_ms| lasts_ms > LASTS_MS_MAX) {
                return Err(format!("{name} must be at most {LASTS_MS_MAX}"));
            }
            all[name] = value;
        }
        serde_json::from_value(all).map_err(|error| error.to_string())
    }
}

/// A moment so many milliseconds later.
pub(super) fn later(at: OffsetDateTime, lasts_ms: u64) -> OffsetDateTime {
    at + Duration::from_millis(lasts_ms)
}
