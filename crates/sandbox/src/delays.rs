//! How long things take in a simulated system: a client changes some of its delays, and moments follow from them.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// A day; a client that wants to wait longer can turn the clock.
const LASTS_MS_MAX: u64 = 24 * 3600 * 1000;

/// A delay that is not named keeps its value.
pub(crate) fn change<D: Serialize + DeserializeOwned>(
    delays: &D,
    named: Map<String, Value>,
) -> Result<D, String> {
    let mut all = json!(delays);
    for (name, value) in named {
        if value.as_u64().is_some_and(|lasts_ms| lasts_ms > LASTS_MS_MAX) {
            return Err(format!("{name} must be at most {LASTS_MS_MAX}"));
        }
        all[name] = value;
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

/// A moment so many milliseconds later.
pub(crate) fn later(at: OffsetDateTime, lasts_ms: u64) -> OffsetDateTime {
    at + Duration::from_millis(lasts_ms)
}
