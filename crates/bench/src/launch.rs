//! Launches on one database: how fast they are carried to their end, what it costs to wait for many slow builds, and
//! how soon a launch goes on when a process says that its image is ready.

mod asking;
mod carry;
mod direct;
mod fake;
mod linger;
mod react;

use anyhow::Result;
use serde::Serialize;

use super::bench_server::BenchDatabase;
use super::measure::{Effort, median};
use super::target::BenchDatabaseKind;
use fake::CallCounts;
pub(super) use linger::{Awaited, play};
use provision_engine::output::note;
pub(super) use react::Reaction;

/// As many as an external system is asked at once, by default.
const AT_ONCE: usize = 64;

/// What was measured on one database.
#[derive(Debug, Serialize)]
pub(super) struct Launching {
    pub(super) name: &'static str,
    pub(super) at_once: usize,
    /// Medians over the rounds.
    pub(super) launches_per_second: f64,
    pub(super) base_per_second: f64,
    /// The median of the ratios of each round.
    pub(super) ratio: f64,
    pub(super) calls_per_launch: f64,
    pub(super) base_calls_per_launch: f64,
    pub(super) awaited: Awaited,
    pub(super) events: Reaction,
    pub(super) callbacks: Reaction,
}

/// So many were carried to their end, and what that took.
#[derive(Debug)]
struct Carried {
    per_second: f64,
    calls_each: f64,
    calls: CallCounts,
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<Launching> {
    let bench_database = BenchDatabase::beside(target, "launches")?;
    let mut rounds = Vec::new();
    for number in 1..=effort.rounds {
        note(format!("  launches, round {number} of {}", effort.rounds));
        let (base, ours) =
            (direct::all(effort.launches).await?, carry::all(&bench_database, effort.launches).await?);
        let differs = ours.calls.beside(&base.calls);
        if !differs.is_empty() {
            note(format!("  calls that are not those of the base: {differs}"));
        }
        rounds.push((base, ours));
    }
    // What waits there is never carried to its end, so it gets a database of its own.
    let bench_database = BenchDatabase::beside(target, "launches_waiting")?;
    let (awaited, events, callbacks) = linger::measure(&bench_database, effort).await?;
    let over = |of: fn(&(Carried, Carried)) -> f64| median(rounds.iter().map(of));
    Ok(Launching {
        name: target.name(),
        at_once: AT_ONCE,
        launches_per_second: over(|(_, ours)| ours.per_second),
        base_per_second: over(|(base, _)| base.per_second),
        ratio: over(|(base, ours)| ours.per_second / base.per_second),
        calls_per_launch: over(|(_, ours)| ours.calls_each),
        base_calls_per_launch: over(|(base, _)| base.calls_each),
        awaited,
        events,
        callbacks,
    })
}

impl Launching {
    /// With the words for people.
    pub(super) fn figures(&self) -> Vec<(String, f64)> {
        let Launching { at_once, awaited, events, callbacks, .. } = self;
        let mut figures = vec![
            (format!("base: launches/s of the drivers alone, {at_once} at once"), self.base_per_second),
            ("L1 launches/s from the build to the addresses".to_owned(), self.launches_per_second),
            ("L1 the same ÷ base".to_owned(), self.ratio),
            ("base: calls for a launch".to_owned(), self.base_calls_per_launch),
            ("L1 calls for a launch".to_owned(), self.calls_per_launch),
            ("L2 MB of memory, a few launches waiting".to_owned(), awaited.memory_before_mb),
            (format!("L2 MB of memory, {} more waiting", awaited.launches), awaited.memory_waiting_mb),
            ("L2 MB of memory, a while later".to_owned(), awaited.memory_later_mb),
            ("L2 KB of memory for a launch that waits".to_owned(), awaited.kilobytes_each()),
            ("L3 looks at builds per second".to_owned(), awaited.looks_per_second),
        ];
        for (id, way, reaction) in [("L4", "an event", events), ("L5", "a callback", callbacks)] {
            let Reaction { launches, per_second, p50_ms, p99_ms, max_ms } = reaction;
            let what = format!("{id} ms from {way} to the launch, of {launches} at {per_second}/s");
            figures.push((format!("{what}, median"), *p50_ms));
            figures.push((format!("{what}, 99 %"), *p99_ms));
            figures.push((format!("{what}, slowest"), *max_ms));
        }
        figures
    }
}
