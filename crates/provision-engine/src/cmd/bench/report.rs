//! What `bench` says.

use serde::Serialize;

use super::goals::Goal;
use super::measure::Database;
use crate::output::{Answer, Cell, Mood, Table};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) cores: usize,
    /// Short windows: the figures show that it works and little else.
    pub(super) is_quick: bool,
    pub(super) databases: Vec<Database>,
    pub(super) goals: Vec<Goal>,
}

impl Report {
    pub(super) fn new(is_quick: bool) -> Report {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let version = env!("CARGO_PKG_VERSION");
        Report { version, cores, is_quick, databases: Vec::new(), goals: Vec::new() }
    }
}

impl Answer for Report {
    fn table(&self, _is_wide: bool) -> Table {
        let mut table = Table::new(["DATABASE", "FIGURE", "VALUE", "GOAL", ""]);
        let mut row = |database: &str, figure: String, value: f64| {
            table.row([database.into(), figure.into(), number(value), Cell::new("-"), Cell::new("")]);
        };
        for db in &self.databases {
            for base in &db.base {
                let figure = format!("base: commits/s with {} connections", base.connections);
                row(db.name, figure, base.commits_per_second);
            }
            for load in &db.engine {
                let at = format!("at {} in flight", load.in_flight);
                row(db.name, format!("steps/s {at}"), load.steps_per_second);
                row(db.name, format!("ms per operation {at}, median"), load.operation_p50_ms);
                row(db.name, format!("ms per operation {at}, 99 %"), load.operation_p99_ms);
                row(db.name, format!("commits per step {at}"), load.commits_per_step);
                row(db.name, format!("bytes per step {at}"), load.bytes_per_step);
            }
            let past = db.history.finished_operations;
            row(db.name, format!("steps/s with {past} finished"), db.history.with.steps_per_second);
            let waiting = db.waiting.operations;
            row(db.name, "MB of memory, idle".into(), db.waiting.memory_idle_mb);
            row(db.name, format!("MB of memory, {waiting} waiting"), db.waiting.memory_waiting_mb);
        }
        for goal in &self.goals {
            let (word, mood) = if goal.is_met { ("met", Mood::Good) } else { ("missed", Mood::Bad) };
            table.row([
                goal.database.into(),
                format!("{} {}", goal.id, goal.figure).into(),
                number(goal.value),
                goal.goal.as_str().into(),
                Cell::new(word).mood(mood),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.goals.iter().map(|goal| goal.id.to_owned()).collect()
    }
}

/// As many digits as say something.
fn number(value: f64) -> Cell {
    let text = match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    };
    Cell::new(text)
}
