//! What goes wrong inside OpenNebula on demand, while its answers stay proper.
//!
//! The faults of a call hit it on its way. These hit the world behind the call: a machine that never boots, a resize
//! that changes nothing, a service that is gone. They are scripted at `/opennebula/faults`.

use serde::{Deserialize, Serialize};

use crate::script::{Plain, Script};

pub(crate) type NebulaFaults = Script<Plain<NebulaFault>>;

/// Each kind is taken by the one place that carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NebulaFault {
    /// A resize is accepted, takes its time, and leaves the machine as it was.
    ResizeDoesNothing,
    /// A resize is refused, because the quota of the user is used up.
    ResizeRefusedQuota,
    /// A machine ends in `BOOT_FAILURE`.
    BootFails,
    /// A machine stays in BOOT for ever.
    NeverRuns,
    /// oned has no `ONEGATE_ENDPOINT`, so no machine may have a token.
    NoOnegate,
    /// oned has no leader for the next call.
    Election,
    /// A service takes long until it has nodes.
    DelayedNodes,
    /// A service never gets nodes.
    NoNodes,
    /// A service has failed at the first look.
    FailsDeployingNow,
    /// A service fails after it has nodes.
    FailsDeployingLater,
    /// Deleting a service is refused.
    DeleteRefused,
    /// Deleting a service is accepted and then fails.
    UndeployFails,
    /// A forced delete is answered as done, and nothing is deleted.
    RecoverDeleteLies,
    /// A service is gone, but its machines are not.
    ServiceVanishes,
    /// A service no longer knows one of its machines.
    ForgetsVm,
}

impl NebulaFaults {
    /// Whether this fault hits now what has this name.
    pub(crate) fn hits(&self, kind: NebulaFault, name: &str) -> bool {
        self.take(|fault| fault.kind == kind, |about| name.contains(about)).is_some()
    }
}
