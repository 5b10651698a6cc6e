//! How fast the broker accepts: as much as it can, and how long one request takes at a fixed pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use engine::{Clock, WallClock};
use reqwest::StatusCode;
use serde::Serialize;
use uuid::Uuid;

use super::CLIENTS;
use crate::bench_server::BenchServer;
use crate::load::{as_float, percentile};
use provision_engine::platform::Platform;

const PER_SECOND: u32 = 200;
/// Fewer requests say nothing about the slowest hundredth.
const SHORTEST: Duration = Duration::from_secs(2);
const TENANTS: usize = 100;

#[derive(Debug, Serialize)]
pub(crate) struct AcceptRate {
    pub(crate) requests_per_second: u32,
    pub(crate) requests: usize,
    /// From the moment when the request was due, also when it was sent later.
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Accepts so many requests while no node works on them. Answers the instances, and how many it were per second.
pub(super) async fn at_once(bench_server: &BenchServer, count: usize) -> Result<(Vec<String>, f64)> {
    // Connections are opened and caches are filled before the clock runs.
    let mut instances = burst(bench_server, CLIENTS).await?;
    let began = WallClock.now();
    instances.extend(burst(bench_server, count).await?);
    let elapsed = WallClock.now().since(began);
    Ok((instances, as_float(u64::try_from(count)?) / elapsed.as_secs_f64()))
}

pub(super) async fn burst(bench_server: &BenchServer, count: usize) -> Result<Vec<String>> {
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (platform, next) = (Arc::clone(&bench_server.platform), Arc::clone(&next));
            tokio::spawn(async move {
                let mut instances = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return anyhow::Ok(instances);
                    }
                    instances.push(one(&platform, number).await?);
                }
            })
        })
        .collect();
    let mut instances = Vec::new();
    for client in clients {
        instances.extend(client.await??);
    }
    Ok(instances)
}

/// Sends at the pace whatever the answers do, as platforms that know nothing of each other.
pub(super) async fn at_a_rate(bench_server: &BenchServer, window: Duration) -> Result<AcceptRate> {
    let count = (window.max(SHORTEST).as_millis() * u128::from(PER_SECOND) / 1000).try_into()?;
    let began = WallClock.now();
    let mut requests = Vec::with_capacity(count);
    for number in 0..count {
        let due = began.plus(Duration::from_secs(1) / PER_SECOND * u32::try_from(number)?);
        WallClock.sleep(due.since(WallClock.now())).await;
        let platform = Arc::clone(&bench_server.platform);
        requests.push(tokio::spawn(async move {
            one(&platform, number).await?;
            anyhow::Ok(WallClock.now().since(due).as_secs_f64() * 1000.0)
        }));
    }
    let mut millis = Vec::with_capacity(count);
    for request in requests {
        millis.push(request.await??);
    }
    let (p50_ms, p99_ms) = (percentile(&mut millis, 50), percentile(&mut millis, 99));
    Ok(AcceptRate { requests_per_second: PER_SECOND, requests: count, p50_ms, p99_ms })
}

async fn one(platform: &Platform, number: usize) -> Result<String> {
    let instance = Uuid::now_v7().to_string();
    let tenant = format!("tenant-{}", number % TENANTS);
    let answer = platform.provision(&instance, &tenant, "bench").send().await?;
    let status = answer.status();
    ensure!(status == StatusCode::ACCEPTED, "the broker answers {status}: {}", answer.text().await?);
    // A connection is used again only when its answer was read.
    answer.bytes().await?;
    Ok(instance)
}
