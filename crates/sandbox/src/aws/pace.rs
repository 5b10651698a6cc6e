//! How long everything takes in EC2, by the clock of the sandbox.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A day; whoever wants to wait longer can turn the clock.
const LASTS_MS_MAX: u64 = 24 * 3600 * 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pace {
    /// From the call until an instance runs.
    pub(super) running_ms: u64,
    /// From running until it has a public address.
    pub(super) address_ms: u64,
    /// From the call until it is terminated.
    pub(super) terminate_ms: u64,
    /// From the call until Describe and Terminate know the instance: both see the world a little late.
    pub(super) visible_ms: u64,
    /// How long a terminated instance can still be seen.
    pub(super) forget_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { running_ms: 60, address_ms: 20, terminate_ms: 60, visible_ms: 0, forget_ms: 3_600_000 }
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
