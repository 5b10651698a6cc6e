//! Where a launch is, in one word.

use serde::{Deserialize, Serialize};

use super::shape::LaunchShape;
use crate::model::state::{State, UndoCause};
use crate::workflows::launch::{Line, TABLE};

/// The state of a launch as clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchPhase {
    Accepted,
    Validating,
    Building,
    WaitingParameters,
    Preparing,
    Launching,
    Describing,
    Registering,
    /// It failed, and what it made is being taken back.
    Compensating,
    /// A client cancelled it, and what it made is being taken back.
    Cancelling,
    Succeeded,
    SucceededWithWarnings,
    Failed,
    Cancelled,
    /// The parameters never came.
    Abandoned,
    /// It failed, and something of it is still there: a person must look.
    FailedDirty,
}

impl LaunchPhase {
    pub fn as_str(self) -> &'static str {
        match self {
            LaunchPhase::Accepted => "accepted",
            LaunchPhase::Validating => "validating",
            LaunchPhase::Building => "building",
            LaunchPhase::WaitingParameters => "waiting_parameters",
            LaunchPhase::Preparing => "preparing",
            LaunchPhase::Launching => "launching",
            LaunchPhase::Describing => "describing",
            LaunchPhase::Registering => "registering",
            LaunchPhase::Compensating => "compensating",
            LaunchPhase::Cancelling => "cancelling",
            LaunchPhase::Succeeded => "succeeded",
            LaunchPhase::SucceededWithWarnings => "succeeded_with_warnings",
            LaunchPhase::Failed => "failed",
            LaunchPhase::Cancelled => "cancelled",
            LaunchPhase::Abandoned => "abandoned",
            LaunchPhase::FailedDirty => "failed_dirty",
        }
    }

    /// The coarse word by which lists filter.
    pub fn label(self) -> &'static str {
        match self {
            LaunchPhase::Succeeded | LaunchPhase::SucceededWithWarnings => "succeeded",
            LaunchPhase::Failed | LaunchPhase::Cancelled | LaunchPhase::Abandoned => "failed",
            LaunchPhase::FailedDirty => "dirty",
            _ => "active",
        }
    }

    pub fn is_over(self) -> bool {
        self.label() != "active"
    }

    /// Nothing while it is not over.
    pub fn success(self) -> Option<bool> {
        self.is_over().then(|| self.label() == "succeeded")
    }

    /// The stage of a launch that is under way.
    pub(crate) fn of(shape: LaunchShape, state: &State) -> LaunchPhase {
        match state.undo_cause {
            Some(UndoCause::Failure) => LaunchPhase::Compensating,
            Some(UndoCause::Cancel) => LaunchPhase::Cancelling,
            None => current(shape, state).map_or(LaunchPhase::Registering, |line| line.stage),
        }
    }
}

/// The first step that has not done its work.
pub(crate) fn current(shape: LaunchShape, state: &State) -> Option<&'static Line> {
    TABLE.iter().find(|line| line.applies(shape) && !state.has_done(line.name()))
}
