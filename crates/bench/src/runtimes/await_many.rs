//! What it costs to wait for a slow Provisioner with many runtimes at once, measured on a process of its own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::{Clock, WallClock};
use reqwest::Client;
use sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::accept::burst;
use crate::bench_server::{BenchDatabase, BenchServer};
use crate::player::{Player, PlayerPart};
use provision_engine::output::{data, note};
use provision_engine::platform;

/// None of them is finished before the measurement is over.
const PROVISION_MS: u64 = 24 * 3600 * 1000;
/// Warm the process up, so that what it keeps for itself is not taken for the price of waiting.
const FIRST_MAX: usize = 500;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Where the process that waits finds what the other one has made.
const SANDBOX: &str = "PROVISION_ENGINE_BENCH_SANDBOX";
const DIR: &str = "PROVISION_ENGINE_BENCH_DIR";

#[derive(Debug, Serialize)]
pub(crate) struct Awaited {
    pub(crate) runtimes: usize,
    /// With a few of them.
    pub(crate) memory_before_mb: f64,
    /// As soon as all of them wait.
    pub(crate) memory_waiting_mb: f64,
    /// After they have waited, and were looked at, for a while.
    pub(crate) memory_later_mb: f64,
}

pub(super) async fn measure(
    bench_database: &BenchDatabase,
    runtimes: usize,
    window: Duration,
) -> Result<Awaited> {
    note(format!("  {runtimes} runtimes waiting for a slow Provisioner"));
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
    let url = sandbox.url();
    let script = platform::client()?.put(format!("{url}/provisioner/script"));
    script.json(&json!({"provision_ms": PROVISION_MS})).send().await?.error_for_status()?;
    let where_it_is = [(SANDBOX, url.as_str()), (DIR, bench_database.dir()?)];
    let mut player = Player::start(&bench_database.target, PlayerPart::Await, runtimes, &where_it_is)?;
    player.says().await?;
    let memory_before_mb = player.memory_mb()?;
    player.says().await?;
    let memory_waiting_mb = player.memory_mb()?;
    WallClock.sleep(window * 2).await;
    let memory_later_mb = player.memory_mb()?;
    // They would be looked at for ever.
    player.kill().await?;
    sandbox.stop().await;
    Ok(Awaited { runtimes, memory_before_mb, memory_waiting_mb, memory_later_mb })
}

/// The process that waits. Its own platform asks it, and the sandbox is in the other process.
pub(crate) async fn play(file: Option<&Path>, url: Option<&str>, runtimes: usize) -> Result<()> {
    let sandbox = std::env::var(SANDBOX).context("there is no sandbox to talk to")?;
    let dir = std::env::var(DIR).context("there is no directory with keys")?;
    let more = [("sandbox.url", sandbox.as_str()), ("runtime.poll", "1h")];
    let bench_server = BenchServer::open(&dir, file, url, &more).await?;
    bench_server.start().await?;
    let http = platform::client()?;
    let first = runtimes.min(FIRST_MAX);
    for (more, all) in [(first, first), (runtimes, first + runtimes)] {
        burst(&bench_server, more).await?;
        all_are_made(&http, &sandbox, all).await?;
        data(&all.to_string())?;
    }
    std::future::pending().await
}

/// Until the Provisioner has heard of all of them.
async fn all_are_made(http: &Client, sandbox: &str, count: usize) -> Result<()> {
    #[derive(Deserialize)]
    struct Summary {
        #[serde(rename = "provisioner/runtime")]
        runtimes: Option<CreatedRuntimes>,
    }
    #[derive(Deserialize)]
    struct CreatedRuntimes {
        made: usize,
    }
    loop {
        let answer = http.get(format!("{sandbox}/ledger/summary")).send().await?;
        let summary: Summary = answer.error_for_status()?.json().await?;
        if summary.runtimes.is_some_and(|runtimes| runtimes.made >= count) {
            return Ok(());
        }
        WallClock.sleep(LOOK_EVERY).await;
    }
}
