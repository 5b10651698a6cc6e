//! The status of a launch, as APIs show it: from its record alone for lists, with its operation for details.

mod legacy;
pub(crate) mod shape;
mod stage;
mod steps;

use engine::store::ResourceRow;
use engine::{Because, Event, Inspection, OperationId, Phase, Timestamp};

pub use legacy::Legacy;
pub use stage::LaunchPhase;
pub use steps::{StepState, StepView};

use super::record::LaunchRecord;

/// One launch.
#[derive(Debug, Clone)]
pub struct View {
    /// The number by which older clients know it.
    pub number: i64,
    /// Goes up with every change.
    pub version: i64,
    pub operation: Option<OperationId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stage: LaunchPhase,
    pub steps: Vec<StepView>,
    /// What it waits for, where that is known.
    pub waits_for: Option<String>,
    pub legacy: Legacy,
    pub record: LaunchRecord,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record of {name} was saved by another release and cannot be read: {why}")]
pub struct UnreadableStatus {
    name: String,
    why: String,
}

impl View {
    /// As lists show it.
    pub fn of_row(row: &ResourceRow) -> Result<View, UnreadableStatus> {
        let record: LaunchRecord = serde_json::from_str(&row.record)
            .map_err(|error| UnreadableStatus { name: row.name.clone(), why: error.to_string() })?;
        // One that was started again has not written its record yet. One that is stuck is not over for the engine.
        let is_under_way = row.phase.is_some_and(|phase| !phase.is_final());
        let begins_again = is_under_way && record.stage.is_over() && record.stage != LaunchPhase::FailedDirty;
        let stage = if begins_again { LaunchPhase::Accepted } else { record.stage };
        Ok(View {
            number: row.number,
            version: row.version,
            operation: row.operation,
            created_at: row.created_at,
            updated_at: row.updated_at,
            stage,
            steps: steps::coarse(&record),
            waits_for: None,
            legacy: Legacy::of(&record, stage),
            record,
        })
    }

    /// With what its operation knows. The journal says when steps began and ended; without it they have no times.
    #[must_use]
    pub fn in_detail(mut self, inspection: &Inspection, journal: &[Event]) -> View {
        let memory = &inspection.memory;
        let phase = inspection.shown.summary.phase;
        if !phase.is_final() {
            self.stage = match &memory.undo_reason {
                _ if phase == Phase::Stuck => LaunchPhase::FailedDirty,
                Some(undo_reason) if undo_reason.because == Because::Cancelled => LaunchPhase::Cancelling,
                Some(_) => LaunchPhase::Compensating,
                None => self.stage,
            };
            self.waits_for = memory.wait.as_ref().map(|wait| wait.reason.clone());
        }
        self.steps = steps::detailed(&self.record, inspection, journal);
        self.legacy = Legacy::of(&self.record, self.stage);
        self
    }
}
