//! What `bench` says.

use serde::Serialize;

use super::console::Consoled;
use super::declared::DeclaredResult;
use super::goals::Goal;
use super::launch::Launching;
use super::measure::Database;
use super::runtimes::RuntimesResult;
use super::serverless::Serverless;
use provision_engine::output::{Cell, Mood, Render, Table};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) cores: usize,
    /// Short windows: the figures show that it works and little else.
    pub(super) is_quick: bool,
    pub(super) databases: Vec<Database>,
    pub(super) runtimes: Vec<RuntimesResult>,
    pub(super) serverless: Vec<Serverless>,
    pub(super) launches: Vec<Launching>,
    pub(super) consoles: Vec<Consoled>,
    pub(super) declared: Vec<DeclaredResult>,
    pub(super) goals: Vec<Goal>,
}

impl Report {
    pub(super) fn new(is_quick: bool) -> Report {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let version = env!("CARGO_PKG_VERSION");
        Report {
            version,
            cores,
            is_quick,
            databases: Vec::new(),
            runtimes: Vec::new(),
            serverless: Vec::new(),
            launches: Vec::new(),
            consoles: Vec::new(),
            declared: Vec::new(),
            goals: Vec::new(),
        }
    }
}

impl Render for Report {
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
                row(db.name, format!("CPU µs per step {at}"), load.cpu_micros_per_step);
            }
            let past = db.history.finished_operations;
            row(db.name, format!("steps/s with {past} finished"), db.history.with.steps_per_second);
            let waiting = db.waiting.operations;
            row(db.name, "MB of memory, idle".into(), db.waiting.memory_idle_mb);
            row(db.name, format!("MB of memory, {waiting} waiting"), db.waiting.memory_waiting_mb);
        }
        for runtimes in &self.runtimes {
            for (figure, value) in figures(runtimes) {
                row(runtimes.name, figure, value);
            }
        }
        for serverless in &self.serverless {
            for (figure, value) in serverless.figures() {
                row(serverless.name, figure, value);
            }
        }
        for launches in &self.launches {
            for (figure, value) in launches.figures() {
                row(launches.name, figure, value);
            }
        }
        for console in &self.consoles {
            for (figure, value) in console.figures() {
                row(console.name, figure, value);
            }
        }
        for declared in &self.declared {
            for (figure, value) in declared.figures() {
                row(declared.name, figure, value);
            }
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

fn figures(of: &RuntimesResult) -> Vec<(String, f64)> {
    let RuntimesResult { clients, writers, at_a_rate, awaited, records, .. } = of;
    let rate = at_a_rate.requests_per_second;
    let mut figures = vec![
        (format!("base: commits/s with {writers} connections"), of.commits_per_second),
        (format!("R1 runtimes/s accepted with {clients} clients"), of.accepted_per_second),
        ("R1 the same ÷ commits/s".to_owned(), of.accepted_ratio),
        (format!("R1 ms to accept at {rate}/s, median"), at_a_rate.p50_ms),
        (format!("R1 ms to accept at {rate}/s, 99 %"), at_a_rate.p99_ms),
        (format!("R2 answers/s about the last operation with {clients} clients"), of.reads_per_second),
        ("R3 runtimes/s through all steps, with the cost of the sandbox".to_owned(), of.carried_per_second),
        ("R4 MB of memory, a few runtimes waiting".to_owned(), awaited.memory_before_mb),
        (format!("R4 MB of memory, {} more waiting", awaited.runtimes), awaited.memory_waiting_mb),
        ("R4 MB of memory, a while later".to_owned(), awaited.memory_later_mb),
    ];
    for list in &of.lists {
        figures.push((format!("R5 ms for 100 of {records}: {}, median", list.question), list.p50_ms));
        figures.push((format!("R5 ms for 100 of {records}: {}, slowest", list.question), list.max_ms));
    }
    figures
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
