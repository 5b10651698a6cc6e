//! How long everything takes in Azure, by the clock of the sandbox.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AzureDelays {
    /// From the call until an instance runs.
    pub(super) running_ms: u64,
    /// From the call until a network resource is ready, or gone.
    pub(super) network_ms: u64,
    /// From the call until an instance or a group is gone.
    pub(super) terminate_ms: u64,
    /// How long a network interface is kept for an instance that failed.
    pub(super) reserve_ms: u64,
    /// From the call until the list of its own service shows a resource.
    pub(super) list_lag_ms: u64,
    /// From the call until the list of all resources shows it.
    pub(super) resources_lag_ms: u64,
    /// From the call until a service is registered in a subscription.
    pub(super) register_ms: u64,
}

impl Default for AzureDelays {
    fn default() -> Self {
        AzureDelays {
            running_ms: 60,
            network_ms: 10,
            terminate_ms: 60,
            reserve_ms: 180_000,
            list_lag_ms: 0,
            resources_lag_ms: 0,
            register_ms: 60,
        }
    }
}
