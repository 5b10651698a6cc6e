//! How long everything takes in Compute Engine, by the clock of the sandbox.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceDelays {
    /// Between two instances of a bulk call: they are made one after the other.
    pub(super) create_ms: u64,
    /// From being made until staging, and from there until running, each.
    pub(super) running_ms: u64,
    /// How long instances that a bulk call takes back can still be seen.
    pub(super) rollback_ms: u64,
    /// From the call until an instance is gone.
    pub(super) terminate_ms: u64,
    /// From being made until lists show it: an instance, a disk or an operation.
    pub(super) visible_ms: u64,
    /// How long a request id is remembered.
    pub(super) request_id_ms: u64,
    /// How long an operation that is done can be seen.
    pub(super) operation_ms: u64,
}

impl Default for GceDelays {
    fn default() -> Self {
        GceDelays {
            create_ms: 10,
            running_ms: 20,
            rollback_ms: 60,
            terminate_ms: 60,
            visible_ms: 0,
            request_id_ms: 3_600_000,
            operation_ms: 24 * 3_600_000,
        }
    }
}
