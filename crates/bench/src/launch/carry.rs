//! How fast launches are carried to their end by external systems that answer at once.

use std::sync::Arc;
use std::time::Duration;

use ::launch::model::record::LaunchRecord;
use anyhow::{Context, Result, ensure};
use engine::store::ResourceQuery;
use engine::{Clock, Resource, WallClock};

use super::asking::{ask, each};
use super::direct::Direct;
use super::fake::FakeClouds;
use super::{AT_ONCE, Carried};
use crate::bench_server::{BenchDatabase, BenchServer};
use crate::load::as_float;

/// No machine is that slow.
const LIMIT: Duration = Duration::from_mins(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// What was built is looked at as soon as there is time. On a machine that stalls for longer than a call may take, calls
/// count as unanswered and are made again; those are not the calls of a launch.
const SETTINGS: [(&str, &str); 5] = [
    ("store.lease", "10m"),
    ("launch.call_timeout", "10m"),
    ("launch.image.polls_per_second", "10000"),
    ("launch.image.poll_first", "50ms"),
    ("launch.instance_poll", "50ms"),
];

/// Accepts so many while no node works on them, and times the engine from its start until all of them are over.
pub(super) async fn all(bench_database: &BenchDatabase, count: usize) -> Result<Carried> {
    let (file, url) = (bench_database.target.sqlite_file(), bench_database.target.url());
    let bench_server = BenchServer::open(bench_database.dir()?, file.as_deref(), url, &SETTINGS).await?;
    let sandbox = bench_server.test_engine.sandbox_url.clone().context("the benchmark needs its sandbox")?;
    let fake = FakeClouds::at(&sandbox)?;
    fake.at_once().await?;
    Direct::new(&sandbox)?.bring_key().await?;
    let before = (over(&bench_server, &["succeeded"]).await?, fake.calls().await?);
    let work = |number| {
        let platform = Arc::clone(&bench_server.platform);
        async move { ask(&platform, number, &format!("carried-{number}"), None).await }
    };
    each(AT_ONCE, count, work).await?;
    let count = u64::try_from(count)?;
    let began = WallClock.now();
    bench_server.start().await?;
    until(&bench_server, before.0 + count).await?;
    let elapsed = WallClock.now().since(began).as_secs_f64();
    let calls = fake.calls().await?.since(&before.1);
    bench_server.close().await;
    let calls_each = as_float(calls.total()) / as_float(count);
    Ok(Carried { per_second: as_float(count) / elapsed, calls_each, calls })
}

/// Until so many are over, all of them well.
async fn until(bench_server: &BenchServer, wanted: u64) -> Result<()> {
    let give_up_at = WallClock.now().plus(LIMIT);
    loop {
        // The store is only asked when it may be over, so that it does not slow down what is measured.
        if bench_server.test_engine.engine.running() == 0 {
            let ended = over(bench_server, &["succeeded", "failed", "dirty"]).await?;
            if ended >= wanted {
                let succeeded = over(bench_server, &["succeeded"]).await?;
                ensure!(succeeded == ended, "{} launches did not succeed", ended - succeeded);
                return Ok(());
            }
            ensure!(WallClock.now() < give_up_at, "{} launches are not over", wanted - ended);
        }
        WallClock.sleep(LOOK_EVERY).await;
    }
}

async fn over(bench_server: &BenchServer, states: &[&str]) -> Result<u64> {
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        labels: vec![("state".to_owned(), states.iter().map(|state| (*state).to_owned()).collect())],
        limit: 1,
        counts: true,
        ..ResourceQuery::default()
    };
    bench_server
        .test_engine
        .engine
        .resources(&query)
        .await?
        .total
        .context("the store does not say how many there are")
}
