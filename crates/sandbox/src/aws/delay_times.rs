//! How long everything takes in EC2, by the clock of the sandbox.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AwsDelays {
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

impl Default for AwsDelays {
    fn default() -> Self {
        AwsDelays { running_ms: 60, address_ms: 20, terminate_ms: 60, visible_ms: 0, forget_ms: 3_600_000 }
    }
}
