//! Where a launch is, in one word.

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::model::state::{Retreat, State};
use crate::workflows::launch::{Line, TABLE};

/// The state of a launch as clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
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
    /// Somebody cancelled it, and what it made is being taken back.
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

impl Stage {
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Accepted => "accepted",
            Stage::Validating => "validating",
            Stage::Building => "building",
            Stage::WaitingParameters => "waiting_parameters",
            Stage::Preparing => "preparing",
            Stage::Launching => "launching",
            Stage::Describing => "describing",
            Stage::Registering => "registering",
            Stage::Compensating => "compensating",
            Stage::Cancelling => "cancelling",
            Stage::Succeeded => "succeeded",
            Stage::SucceededWithWarnings => "succeeded_with_warnings",
            Stage::Failed => "failed",
            Stage::Cancelled => "cancelled",
            Stage::Abandoned => "abandoned",
            Stage::FailedDirty => "failed_dirty",
        }
    }

    /// The coarse word by which lists filter.
    pub fn label(self) -> &'static str {
        match self {
            Stage::Succeeded | Stage::SucceededWithWarnings => "succeeded",
            Stage::Failed | Stage::Cancelled | Stage::Abandoned => "failed",
            Stage::FailedDirty => "dirty",
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
    pub(crate) fn of(shape: Shape, state: &State) -> Stage {
        match state.retreat {
            Some(Retreat::Failure) => Stage::Compensating,
            Some(Retreat::Cancel) => Stage::Cancelling,
            None => current(shape, state).map_or(Stage::Registering, |line| line.stage),
        }
    }
}

/// The first step that has not done its work.
pub(crate) fn current(shape: Shape, state: &State) -> Option<&'static Line> {
    TABLE.iter().find(|line| line.applies(shape) && !state.has_done(line.name()))
}
