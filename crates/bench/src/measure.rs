//! All measurements of one database, in rounds in which base and engine take turns.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::{Clock, WallClock};
use serde::Serialize;

use super::base::{self, Base};
use super::load::{self, Gate, Load, percentile};
use super::recovery::{self, Recovery, Waiting};
use super::target::BenchDatabaseKind;
use super::{BenchArgs, history, workflow};
use provision_engine::output::note;

/// How long and how much to measure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    pub(super) window: Duration,
    history: u64,
    waiting: usize,
    pub(super) in_flight: usize,
    /// How many runtimes are made in each round.
    pub(super) runtimes: usize,
    pub(super) runtimes_waiting: usize,
    pub(super) records: usize,
    /// How many serverless runtimes are made in each round.
    pub(super) serverless: usize,
    /// How long they are looked at, at a fixed pace.
    pub(super) reading: Duration,
    /// How many launches are made in each round.
    pub(super) launches: usize,
    pub(super) launches_waiting: usize,
    /// Of how many builds it is told that they are ready, in each way. The sandbox lists a thousand at most.
    pub(super) images_ready: usize,
    /// How many operations are behind the pages of the console.
    pub(super) pages_behind: usize,
    /// How many of its pages are open at once.
    pub(super) streams: usize,
}

impl Effort {
    pub(super) fn new(args: &BenchArgs) -> Effort {
        let whole = Effort {
            rounds: 3,
            window: Duration::from_secs(4),
            history: 1_000_000,
            waiting: 100_000,
            in_flight: 10_000,
            runtimes: 3_000,
            runtimes_waiting: 10_000,
            records: 100_000,
            serverless: 1_000,
            reading: Duration::from_secs(10),
            launches: 1_000,
            launches_waiting: 10_000,
            images_ready: 400,
            pages_behind: 10_000,
            streams: 500,
        };
        let small = Effort {
            rounds: 1,
            window: Duration::from_millis(500),
            history: 10_000,
            waiting: 1_000,
            in_flight: 500,
            runtimes: 200,
            runtimes_waiting: 200,
            records: 1_000,
            serverless: 50,
            reading: Duration::from_secs(2),
            launches: 30,
            launches_waiting: 100,
            images_ready: 10,
            pages_behind: 200,
            streams: 20,
        };
        let effort = if args.quick { small } else { whole };
        Effort {
            history: args.history.unwrap_or(effort.history),
            waiting: args.waiting.unwrap_or(effort.waiting),
            in_flight: args.in_flight.unwrap_or(effort.in_flight),
            runtimes: args.runtimes.unwrap_or(effort.runtimes),
            runtimes_waiting: args.runtimes_waiting.unwrap_or(effort.runtimes_waiting),
            records: args.records.unwrap_or(effort.records),
            serverless: args.serverless.unwrap_or(effort.serverless),
            launches: args.launches.unwrap_or(effort.launches),
            launches_waiting: args.launches_waiting.unwrap_or(effort.launches_waiting),
            ..effort
        }
    }
}

/// What was measured on one database.
#[derive(Debug, Serialize)]
pub(super) struct Database {
    pub(super) name: &'static str,
    /// Medians over the rounds.
    pub(super) base: Vec<Base>,
    pub(super) engine: Vec<Load>,
    /// Medians of the ratios of each round.
    pub(super) ratios: Ratios,
    pub(super) history: History,
    pub(super) waiting: Waiting,
    pub(super) recovery: Recovery,
    /// Transactions per second of a replica that has nothing to do.
    pub(super) idle_transactions_per_second: Option<f64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Ratios {
    /// Durable steps per second at 1,000 in flight, over the base.
    pub(super) steps_at_1000: f64,
    /// The same at 64.
    pub(super) steps_at_64: f64,
    /// The median time of an operation of ten steps alone, over that of one commit.
    pub(super) latency_alone: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct History {
    pub(super) finished_operations: u64,
    pub(super) with: Load,
    /// Steps per second with a long past, over those without one just before.
    pub(super) ratio: f64,
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<Database> {
    let counts: &[usize] = if target.url().is_some() { &[1, 8, 32, 64] } else { &[1] };
    let (mut bases, mut loads, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=effort.rounds {
        note(format!("  round {round} of {}", effort.rounds));
        let mut base = Vec::new();
        for connections in counts {
            base.push(base::measure(target, *connections, effort.window / 2).await?);
        }
        let mut engine = Vec::new();
        for in_flight in [1, 64, 1000] {
            engine.push(load::measure(target, in_flight, effort.window).await?);
        }
        ratios.push(ratios_of(&base, &engine));
        bases.push(base);
        loads.push(engine);
    }
    let (base, engine) = (median_bases(&bases), median_loads(&loads));
    let recovery = recovery::measure(target, effort.in_flight).await?;
    let waiting = recovery::waiting(target, effort.waiting).await?;
    let idle_transactions_per_second = idle(target, effort.window * 2).await?;
    let history = with_history(target, effort).await?;
    let ratios = Ratios {
        steps_at_1000: median(ratios.iter().map(|ratio| ratio.steps_at_1000)),
        steps_at_64: median(ratios.iter().map(|ratio| ratio.steps_at_64)),
        latency_alone: median(ratios.iter().map(|ratio| ratio.latency_alone)),
    };
    let name = target.name();
    Ok(Database { name, base, engine, ratios, history, waiting, recovery, idle_transactions_per_second })
}

/// PostgreSQL is compared with its rate at 32 connections, where it commits for several of them at once.
fn ratios_of(base: &[Base], engine: &[Load]) -> Ratios {
    let reference = base.iter().find(|base| base.connections == 32).unwrap_or(&base[0]);
    Ratios {
        steps_at_1000: engine[2].steps_per_second / reference.commits_per_second,
        steps_at_64: engine[1].steps_per_second / reference.commits_per_second,
        latency_alone: engine[0].operation_p50_ms / base[0].commit_p50_ms,
    }
}

async fn with_history(target: &BenchDatabaseKind, effort: &Effort) -> Result<History> {
    note(format!("  with {} finished operations", effort.history));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        without.push(load::measure(target, 1000, effort.window).await?);
    }
    history::fill(target, effort.history).await?;
    for _ in 0..effort.rounds {
        with.push(load::measure(target, 1000, effort.window).await?);
    }
    let rate = |loads: &[Load]| median(loads.iter().map(|load| load.steps_per_second));
    let ratio = rate(&with) / rate(&without);
    let with = middle(with, |load| load.steps_per_second);
    Ok(History { finished_operations: effort.history, with, ratio })
}

/// Transactions that an engine with nothing to do makes. Only PostgreSQL counts them for us.
async fn idle(target: &BenchDatabaseKind, window: Duration) -> Result<Option<f64>> {
    if target.url().is_none() || !target.is_private() {
        return Ok(None);
    }
    note("  idle");
    let store = target.open().await?;
    let engine = load::engine(store, Gate::new(1));
    engine.start(None).await?;
    // Back ends report what they did up to ten seconds later, also what was done before this engine began.
    WallClock.sleep(window + Duration::from_secs(4)).await;
    let client = target.connect().await?;
    let count = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()";
    let before: i64 = client.query_one(count, &[]).await?.get(0);
    let began = WallClock.now();
    WallClock.sleep(window).await;
    let after: i64 = client.query_one(count, &[]).await?.get(0);
    let elapsed = WallClock.now().since(began);
    engine.stop(Duration::from_secs(5)).await;
    Ok(Some(load::as_float(u64::try_from(after - before)?) / elapsed.as_secs_f64()))
}

/// Lets this many operations wait, and nothing else.
pub(super) async fn let_wait(target: &BenchDatabaseKind, count: usize) -> Result<()> {
    let store = target.open().await?;
    let engine = load::engine(store, Gate::new(1));
    engine.start(None).await?;
    let left = Arc::new(tokio::sync::Semaphore::new(count));
    let tasks: Vec<_> = (0..256)
        .map(|_| {
            let (engine, left) = (engine.clone(), Arc::clone(&left));
            tokio::spawn(async move {
                while let Ok(one) = left.try_acquire() {
                    one.forget();
                    engine.submit_json(load::command(<workflow::Idle as engine::Workflow>::KIND)).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    while engine.running() > 0 {
        WallClock.sleep(Duration::from_millis(10)).await;
    }
    engine.stop(Duration::from_secs(5)).await;
    Ok(())
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    percentile(&mut values.collect::<Vec<f64>>(), 50)
}

/// The item in the middle of the order.
pub(super) fn middle<T>(mut items: Vec<T>, by: impl Fn(&T) -> f64) -> T {
    items.sort_by(|a, b| by(a).total_cmp(&by(b)));
    let index = items.len() / 2;
    items.swap_remove(index)
}

fn median_bases(rounds: &[Vec<Base>]) -> Vec<Base> {
    (0..rounds[0].len())
        .map(|n| {
            middle(rounds.iter().map(|round| round[n].clone()).collect(), |b: &Base| b.commits_per_second)
        })
        .collect()
}

fn median_loads(rounds: &[Vec<Load>]) -> Vec<Load> {
    (0..rounds[0].len())
        .map(|n| middle(rounds.iter().map(|round| round[n].clone()).collect(), |l: &Load| l.steps_per_second))
        .collect()
}
