//! Runtimes on one database: how fast the broker accepts and answers, how fast they are carried through all their
//! steps, and what many of them cost.

mod accept;
mod await_many;
mod carry;
mod list;
mod read;

use anyhow::Result;
use serde::Serialize;

use super::base;
use super::bench_server::BenchDatabase;
use super::measure::{Effort, median, middle};
use super::target::BenchDatabaseKind;
pub(super) use accept::AcceptRate;
pub(super) use await_many::{Awaited, play};
pub(super) use list::ListMeasurement;
use provision_engine::output::note;

const CLIENTS: usize = 64;

/// What was measured on one database. Medians over the rounds.
#[derive(Debug, Serialize)]
pub(super) struct RuntimesResult {
    pub(super) name: &'static str,
    pub(super) clients: usize,
    /// Of the base: as many as there are clients, where the database takes more than one.
    pub(super) writers: usize,
    pub(super) commits_per_second: f64,
    pub(super) accepted_per_second: f64,
    /// The median of the ratios of each round.
    pub(super) accepted_ratio: f64,
    /// Accepting at a fixed pace, while everything that was accepted is worked on.
    #[serde(rename = "at_a_pace")]
    pub(super) at_a_rate: AcceptRate,
    pub(super) reads_per_second: f64,
    /// With the sandbox in the same process, whose cost is included.
    pub(super) carried_per_second: f64,
    pub(super) awaited: Awaited,
    pub(super) records: usize,
    pub(super) lists: Vec<ListMeasurement>,
}

struct Round {
    commits: f64,
    accepted: f64,
    reads: f64,
    carried: f64,
    rate: AcceptRate,
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<RuntimesResult> {
    let bench_database = BenchDatabase::beside(target, "runtimes")?;
    let writers = if target.url().is_some() { CLIENTS } else { 1 };
    let mut rounds = Vec::new();
    for number in 1..=effort.rounds {
        note(format!("  runtimes, round {number} of {}", effort.rounds));
        rounds.push(round(&bench_database, writers, effort).await?);
    }
    let awaited = await_many::measure(&bench_database, effort.runtimes_waiting, effort.window).await?;
    let lists = list::measure(&bench_database, effort.records).await?;
    let over = |of: fn(&Round) -> f64| median(rounds.iter().map(of));
    Ok(RuntimesResult {
        name: target.name(),
        clients: CLIENTS,
        writers,
        commits_per_second: over(|round| round.commits),
        accepted_per_second: over(|round| round.accepted),
        accepted_ratio: over(|round| round.accepted / round.commits),
        reads_per_second: over(|round| round.reads),
        carried_per_second: over(|round| round.carried),
        at_a_rate: middle(rounds.into_iter().map(|round| round.rate).collect(), |rate| rate.p99_ms),
        awaited,
        records: effort.records,
        lists,
    })
}

async fn round(bench_database: &BenchDatabase, writers: usize, effort: &Effort) -> Result<Round> {
    let base = base::measure(&bench_database.target, writers, effort.window / 2).await?;
    let bench_server = bench_database.bench_server().await?;
    let (instances, accepted) = accept::at_once(&bench_server, effort.runtimes).await?;
    let carried = carry::all(&bench_server, instances.len()).await?;
    let reads = read::last_operations(&bench_server, &instances, effort.window).await?;
    let before = carry::succeeded(&bench_server).await?;
    let rate = accept::at_a_rate(&bench_server, effort.window).await?;
    // The next round has nothing left over to do.
    carry::until(&bench_server, before + u64::try_from(rate.requests)?).await?;
    bench_server.close().await;
    Ok(Round { commits: base.commits_per_second, accepted, reads, carried, rate })
}
