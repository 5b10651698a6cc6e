//! Operations as lines of a table.

use api::types::{Operation, OperationPage, Phase, WireTime};
use engine::{Clock, Timestamp, WallClock};

use crate::output::{Cell, Mood, Render, Table, age};

const REASON_CHARS_MAX: usize = 60;

impl Render for OperationPage {
    fn table(&self, is_wide: bool) -> Table {
        let now = WallClock.now();
        let mut table = if is_wide {
            Table::new([
                "NAME", "ID", "WORKFLOW", "TENANT", "RESOURCE", "PHASE", "STEP", "DUE", "CREATED",
                "FINISHED", "NODE", "REASON",
            ])
        } else {
            Table::new(["NAME", "ID", "WORKFLOW", "PHASE", "STEP", "CREATED", "REASON"])
        };
        for operation in &self.items {
            if is_wide {
                table.row(wide(operation));
            } else {
                table.row(narrow(operation, now));
            }
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|operation| operation.id.to_string()).collect()
    }
}

fn narrow(operation: &Operation, now: Timestamp) -> [Cell; 7] {
    [
        // Without a name it is known by its resource.
        Cell::maybe(operation.name.as_deref().or(operation.resource.as_deref())),
        Cell::id(operation.id),
        Cell::new(&operation.workflow),
        phase_cell(operation.phase),
        Cell::maybe(operation.step.as_deref()),
        Cell::new(ago(now, operation.created_at)),
        Cell::maybe(operation.reason.as_deref()).cut(REASON_CHARS_MAX),
    ]
}

fn wide(operation: &Operation) -> [Cell; 12] {
    [
        Cell::maybe(operation.name.as_deref()),
        Cell::new(operation.id.to_string()),
        Cell::new(&operation.workflow),
        Cell::new(&operation.tenant),
        Cell::maybe(operation.resource.as_deref()),
        phase_cell(operation.phase),
        Cell::maybe(operation.step.as_deref()),
        Cell::maybe(operation.due_at.map(|at| at.to_string())),
        Cell::new(operation.created_at.to_string()),
        Cell::maybe(operation.finished_at.map(|at| at.to_string())),
        Cell::maybe(operation.node.map(|node| node.to_string())),
        Cell::maybe(operation.reason.as_deref()),
    ]
}

pub(crate) fn phase_cell(phase: Phase) -> Cell {
    let mood = match phase {
        Phase::Succeeded => Mood::Good,
        Phase::Stuck | Phase::Failed | Phase::Undone => Mood::Bad,
        Phase::Waiting | Phase::Undoing | Phase::Paused | Phase::Cancelled => Mood::Busy,
        Phase::Pending | Phase::Running => Mood::Plain,
    };
    Cell::new(phase.as_str()).mood(mood)
}

/// The engine's own kind of moment, with which ages are counted.
pub(super) fn timestamp(at: WireTime) -> Timestamp {
    let micros = at.0.unix_timestamp_nanos() / 1000;
    Timestamp(i64::try_from(micros).unwrap_or(i64::MAX))
}

pub(crate) fn ago(now: Timestamp, at: WireTime) -> String {
    age(now, timestamp(at))
}
