//! How long everything takes in OpenNebula, by the clock of the sandbox.

use std::sync::Arc;

use axum::Router;
use serde::{Deserialize, Serialize};

use super::release::Release;
use super::world::Nebula;
use crate::controls::delays;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NebulaDelays {
    pub(crate) pending_ms: u64,
    pub(crate) prolog_ms: u64,
    pub(crate) boot_ms: u64,
    /// In 7.4 a new machine waits for the end of a scheduling window as well.
    pub(crate) sched_window_ms: u64,
    /// From running until the guest says that it is ready.
    pub(crate) ready_ms: u64,
    pub(crate) resize_ms: u64,
    pub(crate) disk_resize_ms: u64,
    pub(crate) poweroff_ms: u64,
    pub(crate) terminate_ms: u64,
    /// A new service has no nodes for so long.
    pub(crate) nets_ms: u64,
    /// And for so long where its nodes are delayed.
    pub(crate) delayed_nodes_ms: u64,
    /// From the end of the last machine until the service is gone.
    pub(crate) undeploy_ms: u64,
    /// From an answer of OneFlow until it is ready for the next request on that connection. This one passes by the
    /// real clock; 0 means that it is always ready.
    pub(crate) kept_ready_ms: u64,
}

impl Default for NebulaDelays {
    fn default() -> Self {
        NebulaDelays {
            pending_ms: 20,
            prolog_ms: 20,
            boot_ms: 60,
            sched_window_ms: 200,
            ready_ms: 60,
            resize_ms: 60,
            disk_resize_ms: 60,
            poweroff_ms: 60,
            terminate_ms: 60,
            nets_ms: 20,
            delayed_nodes_ms: 2000,
            undeploy_ms: 20,
            kept_ready_ms: 20,
        }
    }
}

impl NebulaDelays {
    /// How long a new machine waits for the scheduler.
    pub(crate) fn pending_in(&self, release: Release) -> u64 {
        match release {
            Release::Six => self.pending_ms,
            Release::Seven => self.pending_ms + self.sched_window_ms,
        }
    }
}

pub(super) fn routes(nebula: Arc<Nebula>) -> Router {
    Router::new().route("/opennebula/pace", delays(delay_times)).with_state(nebula)
}

fn delay_times(nebula: &Nebula, new: Option<NebulaDelays>) -> NebulaDelays {
    let mut nebula_state = nebula.nebula_state();
    nebula_state.delay_times = new.unwrap_or(nebula_state.delay_times);
    nebula_state.delay_times
}
