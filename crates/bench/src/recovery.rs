//! What a kill costs and what waiting costs, measured on processes of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use engine::secret::{KeyRing, SharedRing};
use engine::{Clock, Engine, NodeId, Settings, WallClock};
use serde::Serialize;

use super::load;
use super::measure::let_wait;
use super::player::{Player, PlayerPart, own_memory_mb};
use super::target::{BenchDatabaseKind, open};
use super::workflow::{self, Reached};
use provision_engine::output::{data, note};

#[derive(Debug, Serialize)]
pub(super) struct Recovery {
    pub(super) in_flight: usize,
    /// From the start of the new process until every operation was under way again.
    pub(super) resumed_ms: f64,
    /// Steps that ran more than once in the new process.
    pub(super) repeated: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Waiting {
    pub(super) operations: usize,
    pub(super) memory_idle_mb: f64,
    pub(super) memory_waiting_mb: f64,
}

/// The name by which the killed process was known, for the one that takes over.
const PREVIOUS: &str = "PROVISION_ENGINE_BENCH_PREVIOUS";

pub(super) async fn measure(target: &BenchDatabaseKind, in_flight: usize) -> Result<Recovery> {
    note(format!("  a kill with {in_flight} operations in flight"));
    // The tables must be there before the clock runs.
    drop(target.open().await?);
    let mut first = Player::start(target, PlayerPart::Hold, in_flight, &[])?;
    let node = first.says().await?;
    first.kill().await?;
    let began = WallClock.now();
    let mut second = Player::start(target, PlayerPart::Resume, in_flight, &[(PREVIOUS, &node)])?;
    second.says().await?;
    let resumed_ms = WallClock.now().since(began).as_secs_f64() * 1000.0;
    let repeated: u64 = second.says().await?.parse()?;
    second.end().await?;
    Ok(Recovery { in_flight, resumed_ms, repeated })
}

pub(super) async fn waiting(target: &BenchDatabaseKind, operations: usize) -> Result<Waiting> {
    note(format!("  {operations} operations waiting"));
    let memory_idle_mb = sit(target).await?;
    let_wait(target, operations).await?;
    let memory_waiting_mb = sit(target).await?;
    Ok(Waiting { operations, memory_idle_mb, memory_waiting_mb })
}

async fn sit(target: &BenchDatabaseKind) -> Result<f64> {
    let mut player = Player::start(target, PlayerPart::Sit, 1, &[])?;
    let megabytes = player.says().await?.parse()?;
    player.end().await?;
    Ok(megabytes)
}

/// The other side: says one line for each thing that the parent waits for.
pub(super) async fn play(
    part: PlayerPart,
    file: Option<&Path>,
    url: Option<&str>,
    in_flight: usize,
) -> Result<()> {
    let store = open(file, url).await?;
    if part == PlayerPart::Sit {
        let engine = load::engine(store, load::Gate::new(1));
        engine.start(None).await?;
        WallClock.sleep(Duration::from_secs(3)).await;
        data(&format!("{:.1}", own_memory_mb()?))?;
        engine.stop(Duration::from_secs(5)).await;
        return Ok(());
    }
    let reached = Arc::new(Reached::default());
    let settings = Settings { max_running: in_flight + 1000, ..Settings::default() };
    let engine = Engine::builder(store, Arc::new(WallClock), SharedRing::new(KeyRing::generate()))
        .settings(settings)
        .workflow(workflow::held(&reached, part == PlayerPart::Hold))
        .build();
    let previous = std::env::var(PREVIOUS).ok().and_then(|id| id.parse::<NodeId>().ok());
    let node = engine.start(previous).await?;
    if part == PlayerPart::Hold {
        submit_all(&engine, in_flight).await?;
    }
    let wanted = u64::try_from(in_flight)?;
    while reached.count.load(Ordering::SeqCst) < wanted {
        reached.changed.notified().await;
    }
    data(&node.to_string())?;
    if part == PlayerPart::Hold {
        std::future::pending::<()>().await;
    }
    while engine.running() > 0 || engine.stats().await?.due > 0 {
        WallClock.sleep(Duration::from_millis(5)).await;
    }
    data(&(reached.count.load(Ordering::SeqCst) - wanted).to_string())?;
    engine.stop(Duration::from_secs(5)).await;
    Ok(())
}

async fn submit_all(engine: &Engine, count: usize) -> Result<()> {
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.submit_json(load::command("bench.held")).await })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}
