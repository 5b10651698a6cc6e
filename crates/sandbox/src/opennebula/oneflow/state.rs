//! The states of services and roles, by OneFlow's own numbers and names.

use serde::{Serialize, Serializer};

/// Roles know the first eleven of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Pending = 0,
    Deploying = 1,
    Running = 2,
    Undeploying = 3,
    Warning = 4,
    Done = 5,
    FailedUndeploying = 6,
    FailedDeploying = 7,
    Scaling = 8,
    FailedScaling = 9,
    Cooldown = 10,
    DeployingNets = 11,
    UndeployingNets = 12,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Pending => "PENDING",
            State::Deploying => "DEPLOYING",
            State::Running => "RUNNING",
            State::Undeploying => "UNDEPLOYING",
            State::Warning => "WARNING",
            State::Done => "DONE",
            State::FailedUndeploying => "FAILED_UNDEPLOYING",
            State::FailedDeploying => "FAILED_DEPLOYING",
            State::Scaling => "SCALING",
            State::FailedScaling => "FAILED_SCALING",
            State::Cooldown => "COOLDOWN",
            State::DeployingNets => "DEPLOYING_NETS",
            State::UndeployingNets => "UNDEPLOYING_NETS",
        }
    }

    /// Exactly where a user wants to delete a service, OneFlow refuses: in the middle of something, and
    /// after a failure.
    pub(super) fn may_be_undeployed(self) -> bool {
        matches!(self, State::Pending | State::Running | State::Warning | State::Undeploying)
    }

    pub(super) fn may_be_recovered(self) -> bool {
        !matches!(self, State::Pending | State::Running | State::Warning | State::Done)
    }

    pub(super) fn may_be_scaled(self) -> bool {
        matches!(self, State::Running | State::Warning)
    }

    /// Time alone, or its machines, will move it on.
    pub(super) fn is_moving(self) -> bool {
        matches!(
            self,
            State::DeployingNets
                | State::Deploying
                | State::Scaling
                | State::Cooldown
                | State::Undeploying
                | State::UndeployingNets
        )
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(*self as i32)
    }
}
