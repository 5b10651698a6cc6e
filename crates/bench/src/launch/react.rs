//! How soon a launch goes on when a process says that its image is ready.
//!
//! Each launch is timed by itself: from the moment at which the sandbox is asked to send the word, to the moment at
//! which the sandbox gets the call that makes the instance. Both are read from the clock of this process. The sandbox is
//! in this process, the engine in another, and all the other launches wait and are looked at meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::{Clock, Timestamp, WallClock};
use serde::Serialize;

use super::fake::{FakeClouds, HeldBuild};
use crate::load::{as_float, percentile};

const PER_SECOND: u32 = 10;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A receiver that is there answers sooner.
const LIMIT: Duration = Duration::from_secs(60);
/// The sandbox tells times to the millisecond.
const GRAIN_US: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReactPath {
    Event,
    Callback,
}

#[derive(Debug, Serialize)]
pub(crate) struct Reaction {
    pub(crate) launches: usize,
    /// So many are told in a second, evenly.
    pub(crate) per_second: u32,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

impl ReactPath {
    pub(super) const ALL: [ReactPath; 2] = [ReactPath::Event, ReactPath::Callback];

    /// What the names of these launches begin with.
    pub(super) fn word(self) -> &'static str {
        match self {
            ReactPath::Event => "event",
            ReactPath::Callback => "callback",
        }
    }

    /// The profile that waits for it.
    pub(super) fn profile(self) -> &'static str {
        match self {
            ReactPath::Event => "events",
            ReactPath::Callback => "images",
        }
    }

    /// Lets the image be ready and says so. Answers when that was.
    async fn tell(self, fake: FakeClouds, build: HeldBuild) -> Result<(String, Timestamp)> {
        fake.release(&build).await?;
        let told_at = WallClock.now();
        match self {
            ReactPath::Event => fake.send_event(&build).await?,
            ReactPath::Callback => fake.send_callback(&build).await?,
        }
        Ok((build.name, told_at))
    }
}

pub(super) async fn measure(fake: &FakeClouds, way: ReactPath, held: &[HeldBuild]) -> Result<Reaction> {
    let mut builds = held.iter().filter(|build| build.is_of(way.word())).cloned();
    let first = builds.next().with_context(|| format!("no launch waits for its {}", way.word()))?;
    let warm_up = way.tell(fake.clone(), first).await?;
    reactions(fake, &BTreeMap::from([warm_up])).await?;
    let (began, mut tellings) = (WallClock.now(), Vec::new());
    for (number, build) in (0..).zip(builds) {
        let due = began.plus(Duration::from_secs(1) / PER_SECOND * number);
        WallClock.sleep(due.since(WallClock.now())).await;
        tellings.push(tokio::spawn(way.tell(fake.clone(), build)));
    }
    let mut told = BTreeMap::new();
    for telling in tellings {
        told.extend([telling.await??]);
    }
    let mut millis = reactions(fake, &told).await?;
    let (p50_ms, p99_ms) = (percentile(&mut millis, 50), percentile(&mut millis, 99));
    let max_ms = millis.last().copied().context("no notice was received")?;
    Ok(Reaction { launches: millis.len(), per_second: PER_SECOND, p50_ms, p99_ms, max_ms })
}

/// The milliseconds of each, as soon as all of them are launched.
async fn reactions(fake: &FakeClouds, told: &BTreeMap<String, Timestamp>) -> Result<Vec<f64>> {
    let give_up_at = WallClock.now().plus(LIMIT);
    loop {
        let launched = fake.launched().await?;
        let missing = told.keys().filter(|name| !launched.contains_key(*name)).count();
        if missing == 0 {
            return told.iter().map(|(name, told_at)| took(name, *told_at, launched[name])).collect();
        }
        ensure!(
            WallClock.now() < give_up_at,
            "{missing} launches were told that their image is ready, and wait"
        );
        WallClock.sleep(LOOK_EVERY).await;
    }
}

fn took(name: &str, told_at: Timestamp, launched_at: Timestamp) -> Result<f64> {
    let micros = launched_at.0 - told_at.0;
    ensure!(micros > -GRAIN_US, "{name} was launched before it was told that its image is ready");
    Ok(as_float(u64::try_from(micros.max(0))?) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_each_launch_and_never_less_than_nothing() {
        let at = |micros: i64| Timestamp(1_790_000_000_000_000 + micros);
        assert!((took("a", at(0), at(12_500)).unwrap() - 12.5).abs() < 1e-9);
        assert!(took("a", at(900), at(0)).unwrap().abs() < 1e-9);
        assert!(took("a", at(1_000), at(0)).is_err(), "it looked by itself");
    }
}
