//! What it costs to wait for slow builds with many launches at once, measured on a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::launch::model::LaunchSettings;
use anyhow::{Context, Result};
use engine::{Clock, WallClock};
use sandbox::Sandbox;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::AT_ONCE;
use super::asking::{ask, each};
use super::fake::FakeClouds;
use super::react::{self, ReactPath, Reaction};
use crate::bench_server::{BenchDatabase, BenchServer};
use crate::load::as_float;
use crate::measure::Effort;
use crate::player::{Player, PlayerPart};
use provision_engine::output::{data, note};

/// Those that no process tells anything want to look more often than they may, however few they are.
const POLLS: [(&str, &str); 2] = [("launch.image.poll_first", "1s"), ("launch.image.poll_max", "1s")];
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So many seconds' worth of looks come through at once after a pause.
const BURST: f64 = 1.0;

/// Where the process that waits finds what the other one has made, and how many images will be ready.
const SANDBOX: &str = "PROVISION_ENGINE_BENCH_SANDBOX";
const DIR: &str = "PROVISION_ENGINE_BENCH_DIR";
const READY: &str = "PROVISION_ENGINE_BENCH_READY";

#[derive(Debug, Serialize)]
pub(crate) struct Awaited {
    pub(crate) launches: usize,
    /// With a few of them.
    pub(crate) memory_before_mb: f64,
    /// As soon as all of them wait.
    pub(crate) memory_waiting_mb: f64,
    /// After they have waited, and were looked at, for a while.
    pub(crate) memory_later_mb: f64,
    pub(crate) looks_per_second: f64,
    /// Looks in that while, over those that the settings allow.
    pub(crate) looks_ratio: f64,
}

impl Awaited {
    pub(super) fn kilobytes_each(&self) -> f64 {
        (self.memory_later_mb - self.memory_before_mb) * 1024.0 / as_float(self.launches as u64)
    }
}

pub(super) async fn measure(
    bench_database: &BenchDatabase,
    effort: &Effort,
) -> Result<(Awaited, Reaction, Reaction)> {
    note(format!("  {} launches waiting for slow builds", effort.launches_waiting));
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
    let fake = FakeClouds::at(&sandbox.url())?;
    fake.at_once().await?;
    fake.hold_all().await?;
    let ready = effort.images_ready.to_string();
    let where_it_is = [(SANDBOX, sandbox.url()), (DIR, bench_database.dir()?.to_owned()), (READY, ready)];
    let where_it_is = where_it_is.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut player =
        Player::start(&bench_database.target, PlayerPart::Linger, effort.launches_waiting, &where_it_is)?;
    player.says().await?;
    // It has said that it wants to be told, and we tell it by hand.
    fake.be_silent().await?;
    let held = fake.held().await?;
    let memory_before_mb = player.memory_mb()?;
    player.says().await?;
    let memory_waiting_mb = player.memory_mb()?;
    let (looks, began) = (fake.looks().await?, WallClock.now());
    WallClock.sleep(effort.window * 2).await;
    let looks = as_float(fake.looks().await? - looks);
    let seconds = WallClock.now().since(began).as_secs_f64();
    let awaited = Awaited {
        launches: effort.launches_waiting,
        memory_before_mb,
        memory_waiting_mb,
        memory_later_mb: player.memory_mb()?,
        looks_per_second: looks / seconds,
        looks_ratio: looks / allowed(LaunchSettings::default().polls_per_second, seconds),
    };
    let events = react::measure(&fake, ReactPath::Event, &held).await?;
    let callbacks = react::measure(&fake, ReactPath::Callback, &held).await?;
    // They would be looked at for ever.
    player.kill().await?;
    sandbox.stop().await;
    Ok((awaited, events, callbacks))
}

fn allowed(per_second: u32, seconds: f64) -> f64 {
    f64::from(per_second) * (seconds + BURST)
}

/// The process that waits. It asks itself, and the sandbox is in the other process.
pub(crate) async fn play(file: Option<&Path>, url: Option<&str>, waiting: usize) -> Result<()> {
    let sandbox = std::env::var(SANDBOX).context("there is no sandbox to talk to")?;
    let dir = std::env::var(DIR).context("there is no directory with keys")?;
    let ready: usize = std::env::var(READY).context("the number of images is not set")?.parse()?;
    let [first, max] = POLLS;
    let bench_server =
        BenchServer::open(&dir, file, url, &[("sandbox.url", sandbox.as_str()), first, max]).await?;
    bench_server.start().await?;
    listen(&bench_server).await?;
    let fake = FakeClouds::at(&sandbox)?;
    // One more of each, to warm up with.
    for way in ReactPath::ALL {
        all_asked(&bench_server, ready + 1, way.word(), Some(way.profile())).await?;
    }
    let first = u64::try_from(2 * (ready + 1))?;
    // After that they are left alone for a while.
    while fake.looks().await? < first {
        WallClock.sleep(LOOK_EVERY).await;
    }
    data(&first.to_string())?;
    all_asked(&bench_server, waiting, "waiting", None).await?;
    while fake.builds_made().await? < first + u64::try_from(waiting)? {
        WallClock.sleep(LOOK_EVERY).await;
    }
    data(&waiting.to_string())?;
    std::future::pending().await
}

/// Hears of images in both ways, as a server does.
async fn listen(bench_server: &BenchServer) -> Result<()> {
    let (test_engine, closing) = (&bench_server.test_engine, CancellationToken::new());
    test_engine.background(&bench_server.config, &closing);
    test_engine.serving(&bench_server.platform.serving()).await
}

async fn all_asked(
    bench_server: &BenchServer,
    count: usize,
    word: &'static str,
    profile: Option<&'static str>,
) -> Result<()> {
    let work = |number| {
        let platform = Arc::clone(&bench_server.platform);
        async move { ask(&platform, number, &format!("{word}-{number}"), profile).await }
    };
    each(AT_ONCE, count, work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_while_has_as_many_looks_as_its_seconds_allow_and_one_burst() {
        assert!((allowed(50, 9.0) - 500.0).abs() < 1e-9);
        let awaited = Awaited {
            launches: 1024,
            memory_before_mb: 60.0,
            memory_waiting_mb: 99.0,
            memory_later_mb: 62.0,
            looks_per_second: 1.0,
            looks_ratio: 1.0,
        };
        assert!((awaited.kilobytes_each() - 2.0).abs() < 1e-9);
    }
}
