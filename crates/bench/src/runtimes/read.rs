//! How often platforms can ask how their operation stands.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::{Clock, WallClock};

use super::CLIENTS;
use crate::bench_server::BenchServer;
use crate::load::as_float;

pub(super) async fn last_operations(
    bench_server: &BenchServer,
    instances: &[String],
    window: Duration,
) -> Result<f64> {
    let instances: Arc<[String]> = instances.into();
    let began = WallClock.now();
    let end = began.plus(window);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (platform, instances) = (Arc::clone(&bench_server.platform), Arc::clone(&instances));
            tokio::spawn(async move {
                let mut count = 0_u64;
                for instance in instances.iter().cycle().skip(client * instances.len() / CLIENTS) {
                    if WallClock.now() >= end {
                        break;
                    }
                    platform.last_operation(instance).send().await?.error_for_status()?.bytes().await?;
                    count += 1;
                }
                anyhow::Ok(count)
            })
        })
        .collect();
    let mut count = 0;
    for client in clients {
        count += client.await??;
    }
    Ok(as_float(count) / WallClock.now().since(began).as_secs_f64())
}
