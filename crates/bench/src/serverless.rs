//! Serverless runtimes on one database: what the engine adds to the calls that OpenNebula has to answer anyway.
//!
//! The same calls are made by the driver alone, to a sandbox of its own, in the same run. That is the base, and
//! what is above it is our own share.

mod direct;
mod offer;
mod timing;

use anyhow::Result;
use serde::Serialize;

use super::bench_server::BenchDatabase;
use super::load::{as_float, percentile};
use super::measure::{Effort, median, middle};
use super::target::BenchDatabaseKind;
use direct::Direct;
use offer::OfferResult;
pub(super) use offer::play;
use provision_engine::output::note;
use timing::{Timed, at_a_rate, burst, saturate};

/// As many as OpenNebula is asked at once, by default.
const CREATORS: usize = 8;
const POLLERS: usize = 64;
const PER_SECOND: u32 = 500;
/// So often base and engine take turns within a round.
const TURNS: u32 = 5;
/// How many runtimes are looked at, each a function with data beside it.
const WATCHED: usize = 50;

/// What was measured on one database.
#[derive(Debug, Serialize)]
pub(super) struct Serverless {
    pub(super) name: &'static str,
    pub(super) creators: usize,
    pub(super) creates: Share,
    pub(super) requests_per_second: u32,
    pub(super) reads: Share,
    pub(super) pollers: usize,
    pub(super) polls_per_second: f64,
    pub(super) base_polls_per_second: f64,
    /// The most that were open to oned at once.
    pub(super) connections: usize,
    /// Of a process that has nothing but the engine and its APIs.
    pub(super) memory_before_mb: f64,
    pub(super) memory_after_mb: f64,
}

/// How long a request takes, how long the same calls take without us, and the difference.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Share {
    pub(super) requests: usize,
    pub(super) per_second: f64,
    pub(super) base_per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) base_p50_ms: f64,
    pub(super) base_p99_ms: f64,
    pub(super) own_p50_ms: f64,
    pub(super) own_p99_ms: f64,
}

impl Share {
    fn of(mut ours: Timed, mut base: Timed) -> Share {
        let mut both =
            |percent| (percentile(&mut ours.millis, percent), percentile(&mut base.millis, percent));
        let ((p50_ms, base_p50_ms), (p99_ms, base_p99_ms)) = (both(50), both(99));
        Share {
            requests: ours.millis.len(),
            per_second: ours.per_second(),
            base_per_second: base.per_second(),
            p50_ms,
            p99_ms,
            base_p50_ms,
            base_p99_ms,
            own_p50_ms: p50_ms - base_p50_ms,
            own_p99_ms: p99_ms - base_p99_ms,
        }
    }
}

struct Round {
    creates: Share,
    reads: Share,
    polls: f64,
    base_polls: f64,
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<Serverless> {
    let bench_database = BenchDatabase::beside(target, "serverless")?;
    let (offer, direct) = (OfferResult::start(&bench_database).await?, Direct::start().await?);
    let memory_before_mb = offer.memory_mb()?;
    let (watched, base_watched) = (offer.watched(WATCHED).await?, direct.watched(WATCHED).await?);
    let mut rounds = Vec::new();
    for number in 1..=effort.rounds {
        note(format!("  serverless, round {number} of {}", effort.rounds));
        let (mut creates, mut base_creates) = (Timed::default(), Timed::default());
        let (mut reads, mut base_reads) = (Timed::default(), Timed::default());
        for _ in 0..TURNS {
            let count = effort.serverless.div_ceil(TURNS as usize);
            base_creates.add(burst(CREATORS, count, direct.creator()).await?);
            creates.add(burst(CREATORS, count, offer.creator()).await?);
        }
        for _ in 0..TURNS {
            let window = effort.reading / TURNS;
            base_reads.add(at_a_rate(PER_SECOND, window, direct.reader(&base_watched)).await?);
            reads.add(at_a_rate(PER_SECOND, window, offer.reader(&watched)).await?);
        }
        let (creates, reads) = (Share::of(creates, base_creates), Share::of(reads, base_reads));
        let base_polls = saturate(POLLERS, effort.window, direct.reader(&base_watched)).await?;
        let polls = saturate(POLLERS, effort.window, offer.reader(&watched)).await?;
        rounds.push(Round { creates, reads, polls, base_polls });
    }
    let (connections, memory_after_mb) = (offer.connections().await?, offer.memory_mb()?);
    offer.end().await?;
    direct.end().await;
    let over = |of: fn(&Round) -> f64| median(rounds.iter().map(of));
    let (polls_per_second, base_polls_per_second) =
        (over(|round| round.polls), over(|round| round.base_polls));
    let creates = middle(rounds.iter().map(|round| round.creates.clone()).collect(), |it| it.own_p50_ms);
    Ok(Serverless {
        name: target.name(),
        creators: CREATORS,
        creates,
        requests_per_second: PER_SECOND,
        reads: middle(rounds.into_iter().map(|round| round.reads).collect(), |it| it.own_p99_ms),
        pollers: POLLERS,
        polls_per_second,
        base_polls_per_second,
        connections,
        memory_before_mb,
        memory_after_mb,
    })
}

impl Serverless {
    /// With the words for people.
    pub(super) fn figures(&self) -> Vec<(String, f64)> {
        let Serverless { creators, creates, reads, pollers, requests_per_second: rate, .. } = self;
        vec![
            (format!("base: creates/s of the driver alone, {creators} at once"), creates.base_per_second),
            (format!("S1 creates/s with {creators} clients"), creates.per_second),
            ("S1 the same ÷ base".to_owned(), creates.per_second / creates.base_per_second),
            ("S1 ms of our own in a create, median".to_owned(), creates.own_p50_ms),
            ("S1 ms of our own in a create, 99 %".to_owned(), creates.own_p99_ms),
            (format!("base: ms of the driver alone to look at {rate}/s, median"), reads.base_p50_ms),
            (format!("base: ms of the driver alone to look at {rate}/s, 99 %"), reads.base_p99_ms),
            (format!("S2 ms of our own in a look at {rate}/s, median"), reads.own_p50_ms),
            (format!("S2 ms of our own in a look at {rate}/s, 99 %"), reads.own_p99_ms),
            ("S2 ms of a look ÷ base, median".to_owned(), reads.p50_ms / reads.base_p50_ms),
            (format!("base: looks/s of the driver alone, {pollers} at once"), self.base_polls_per_second),
            (format!("S3 looks/s with {pollers} clients"), self.polls_per_second),
            ("S3 the same ÷ base".to_owned(), self.polls_per_second / self.base_polls_per_second),
            ("S4 connections to oned, the most at once".to_owned(), as_float(self.connections as u64)),
            ("S5 MB of memory, idle".to_owned(), self.memory_before_mb),
            ("S5 MB of memory, after all of it".to_owned(), self.memory_after_mb),
        ]
    }
}
