//! How fast runtimes are carried through all their steps by a Provisioner that answers at once.

use std::time::Duration;

use ::runtimes::api::types::RuntimePage;
use anyhow::{Context, Result, ensure};
use engine::{Clock, WallClock};
use reqwest::Method;

use crate::bench_server::BenchServer;
use crate::load::as_float;

/// No machine is that slow.
const LIMIT: Duration = Duration::from_mins(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Starts the engine on so many that were accepted, and answers how many were finished per second.
pub(super) async fn all(bench_server: &BenchServer, count: usize) -> Result<f64> {
    let count = u64::try_from(count)?;
    let wanted = succeeded(bench_server).await? + count;
    let began = WallClock.now();
    bench_server.start().await?;
    until(bench_server, wanted).await?;
    Ok(as_float(count) / WallClock.now().since(began).as_secs_f64())
}

/// Until so many have succeeded since the tables were made.
pub(super) async fn until(bench_server: &BenchServer, wanted: u64) -> Result<()> {
    let give_up_at = WallClock.now().plus(LIMIT);
    loop {
        // The list is only asked when it may be over, so that it does not slow down what is measured.
        if bench_server.test_engine.engine.running() == 0 {
            let done = succeeded(bench_server).await?;
            if done >= wanted {
                return Ok(());
            }
            ensure!(WallClock.now() < give_up_at, "{} runtimes are not finished", wanted - done);
        }
        WallClock.sleep(LOOK_EVERY).await;
    }
}

pub(super) async fn succeeded(bench_server: &BenchServer) -> Result<u64> {
    let request = bench_server.platform.request(Method::GET, "/runtimes?state=succeeded&page_size=1");
    let page: RuntimePage = request.send().await?.error_for_status()?.json().await?;
    page.total_count.context("the list does not say how many there are")
}
