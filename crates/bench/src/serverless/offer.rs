//! The engine and its doors in a process of their own, so that its memory is its own, with devices in front of it.

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
use crate::desk::{Desk, Ground};
use crate::player::{Part, Player};
use provision_engine::device::Device;
use provision_engine::output::data;
use provision_engine::platform;

/// Where the process that offers runtimes finds what the other one has made.
const SANDBOX: &str = "PROVISION_ENGINE_BENCH_SANDBOX";
const DIR: &str = "PROVISION_ENGINE_BENCH_DIR";

pub(super) type Asking = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

pub(super) struct Offer {
    player: Player,
    sandbox: Sandbox,
    device: Device,
}

impl Offer {
    pub(super) async fn start(ground: &Ground) -> Result<Offer> {
        let sandbox = at_once().await?;
        let url = sandbox.url();
        let where_it_is = [(SANDBOX, url.as_str()), (DIR, ground.dir()?)];
        let mut player = Player::start(&ground.target, Part::Offer, 0, &where_it_is)?;
        let device = Device::new(&player.says().await?)?;
        Ok(Offer { player, sandbox, device })
    }

    /// Makes runtimes to look at.
    pub(super) async fn watched(&self, count: usize) -> Result<Arc<[i32]>> {
        let made = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (device, list) = (self.device.clone(), Arc::clone(&made));
        let body = order(direct::WATCHED);
        let make = move |_| -> Asking {
            let (request, list) = (device.create(&body), Arc::clone(&list));
            Box::pin(async move {
                let runtime = Device::runtime(request, StatusCode::CREATED).await?;
                list.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(runtime.id);
                Ok(())
            })
        };
        burst(CREATORS, count, make).await?;
        let made = std::mem::take(&mut *made.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(made.into())
    }

    pub(super) fn creator(&self) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let (device, body) = (self.device.clone(), order(direct::CREATED));
        move |_| {
            let request = device.create(&body);
            Box::pin(async move { Device::runtime(request, StatusCode::CREATED).await.map(drop) })
        }
    }

    pub(super) fn reader(&self, runtimes: &Arc<[i32]>) -> impl Fn(usize) -> Asking + Send + Sync + 'static {
        let (device, runtimes) = (self.device.clone(), Arc::clone(runtimes));
        move |number| {
            let request = device.show(runtimes[number % runtimes.len()]);
            Box::pin(async move {
                // Nobody reads it here, but a connection is used again only when its answer was taken.
                request.send().await?.error_for_status()?.bytes().await?;
                Ok(())
            })
        }
    }

    pub(super) async fn connections(&self) -> Result<usize> {
        #[derive(Deserialize)]
        struct Counts {
            peak: usize,
        }
        let url = format!("{}/opennebula/connections", self.sandbox.url());
        let answer = platform::client()?.get(url).send().await?.error_for_status()?;
        let counts: Counts = answer.json().await.context("the sandbox does not count its connections")?;
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
    let desk = Desk::open(&dir, file, url, &[("sandbox.url", sandbox.as_str())]).await?;
    desk.start().await?;
    data(desk.platform.url())?;
    std::future::pending().await
}
