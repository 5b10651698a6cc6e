//! The engine and its APIs in a process of their own, so that its memory is its own, with devices in front of it.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result};
use reqwest::StatusCode;
use sandbox::Sandbox;
use serde::Deserialize;
use serde_json::{Value, json};

use super::direct::{at_once, flavours};
use super::timing::burst;
use super::{CREATORS, direct};
use crate::bench_server::{BenchDatabase, BenchServer};
use crate::player::{Player, PlayerPart};
use provision_engine::demo_client::DemoClient;
use provision_engine::output::data;
use provision_engine::platform;

/// Where the process that offers runtimes finds what the other one has made.
const SANDBOX: &str = "PROVISION_ENGINE_BENCH_SANDBOX";
const DIR: &str = "PROVISION_ENGINE_BENCH_DIR";

pub(super) type Asking = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

pub(super) struct OfferResult {
    player: Player,
    sandbox: Sandbox,
    demo_client: DemoClient,
}

impl OfferResult {
    pub(super) async fn start(bench_database: &BenchDatabase) -> Result<OfferResult> {
        let sandbox = at_once().await?;
        let url = sandbox.url();
        let where_it_is = [(SANDBOX, url.as_str()), (DIR, bench_database.dir()?)];
        let mut player = Player::start(&bench_database.target, PlayerPart::Offer, 0, &where_it_is)?;
        let demo_client = DemoClient::new(&player.says().await?)?;
        Ok(OfferResult { player, sandbox, demo_client })
    }

    /// Makes runtimes to look at.
    pub(super) async fn watched(&self, count: usize) -> Result<Arc<[i32]>> {
        let made = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (demo_client, list) = (self.demo_client.clone(), Arc::clone(&made));
        let body = order(direct::WATCHED);
        let make = move |_| -> Asking {
            let (request, list) = (demo_client.create(&body), Arc::clone(&list));
            Box::pin(async move {
                let runtime = DemoClient::runtime(request, StatusCode::CREATED).await?;
                list.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(runtime.id);
                Ok(())
            })
        };
        burst(CREATORS, count, make).await?;
        let made = std::mem::take(&mut *made.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(made.into())
    }

    pub(super) fn creator(&self) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let (demo_client, body) = (self.demo_client.clone(), order(direct::CREATED));
        move |_| {
            let request = demo_client.create(&body);
            Box::pin(async move { DemoClient::runtime(request, StatusCode::CREATED).await.map(drop) })
        }
    }

    pub(super) fn reader(&self, runtimes: &Arc<[i32]>) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let (demo_client, runtimes) = (self.demo_client.clone(), Arc::clone(runtimes));
        move |number| {
            let request = demo_client.show(runtimes[number % runtimes.len()]);
            Box::pin(async move {
                // No process reads it here, but a connection is used again only when its answer was taken.
                request.send().await?.error_for_status()?.bytes().await?;
                Ok(())
            })
        }
    }

    pub(super) async fn connections(&self) -> Result<usize> {
        #[derive(Deserialize)]
        struct OfferCounts {
            peak: usize,
        }
        let url = format!("{}/opennebula/connections", self.sandbox.url());
        let answer = platform::client()?.get(url).send().await?.error_for_status()?;
        let counts: OfferCounts =
            answer.json().await.context("the sandbox does not count its connections")?;
        Ok(counts.peak)
    }

    pub(super) fn memory_mb(&self) -> Result<f64> {
        self.player.memory_mb()
    }

    pub(super) async fn end(self) -> Result<()> {
        self.player.kill().await?;
        self.sandbox.stop().await;
        Ok(())
    }
}

fn order(of: direct::Flavour) -> Value {
    json!({"SERVERLESS_RUNTIME": flavours(of)})
}

/// The process that offers runtimes, until it is killed.
pub(crate) async fn play(file: Option<&Path>, url: Option<&str>) -> Result<()> {
    let sandbox = std::env::var(SANDBOX).context("there is no sandbox to talk to")?;
    let dir = std::env::var(DIR).context("there is no directory with keys")?;
    let bench_server = BenchServer::open(&dir, file, url, &[("sandbox.url", sandbox.as_str())]).await?;
    bench_server.start().await?;
    data(bench_server.platform.url())?;
    std::future::pending().await
}
