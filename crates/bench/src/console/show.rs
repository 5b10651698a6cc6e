//! A process with engine, APIs and console, so that its memory is its own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use engine::secret::ExposeSecret;
use engine::{Clock, Command, Role, WallClock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bench_server::{BenchDatabase, BenchServer};
use crate::player::{Player, PlayerPart};
use provision_engine::listener::{ListenerLimits, serve};
use provision_engine::output::data;

const DIR: &str = "PROVISION_ENGINE_BENCH_DIR";
const BEHIND: &str = "PROVISION_ENGINE_BENCH_BEHIND";
const WORKFLOW: &str = "demo.hello";
/// Longer than any measurement.
const WAIT_MS: u64 = 3_600_000;
/// How many are submitted at a time.
const AT_ONCE: usize = 64;

/// What the process says when it is ready.
#[derive(Serialize, Deserialize)]
struct Ready {
    url: String,
    token: String,
    waiting: Vec<String>,
}

pub(super) struct ShowMeasurement {
    player: Player,
    pub(super) url: String,
    pub(super) token: String,
    /// Operations that wait until the benchmark ends them.
    pub(super) waiting: Vec<String>,
}

impl ShowMeasurement {
    pub(super) async fn start(
        bench_database: &BenchDatabase,
        behind: usize,
        waiting: usize,
    ) -> Result<ShowMeasurement> {
        let behind = behind.to_string();
        let told = [(DIR, bench_database.dir()?), (BEHIND, behind.as_str())];
        let mut player = Player::start(&bench_database.target, PlayerPart::Show, waiting, &told)?;
        let Ready { url, token, waiting } = serde_json::from_str(&player.says().await?)?;
        Ok(ShowMeasurement { player, url, token, waiting })
    }

    pub(super) fn memory_mb(&self) -> Result<f64> {
        self.player.memory_mb()
    }

    pub(super) async fn end(self) -> Result<()> {
        self.player.kill().await
    }
}

/// The process, until it is killed.
pub(crate) async fn play(file: Option<&Path>, url: Option<&str>, waiting: usize) -> Result<()> {
    let dir = std::env::var(DIR).context("there is no directory with keys")?;
    let behind: usize = std::env::var(BEHIND).context("the number of operations is not set")?.parse()?;
    let bench_server = BenchServer::open(&dir, file, url, &[]).await?;
    bench_server.start().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = format!("http://{}", listener.local_addr()?);
    let closing = CancellationToken::new();
    let (apis, inside) =
        bench_server.test_engine.apis(&bench_server.config, &bench_server.meter, &closing)?;
    let router =
        bench_server.test_engine.console(&bench_server.config, inside).into_iter().fold(apis, Router::merge);
    tokio::spawn(serve(listener, router, ListenerLimits::of(&bench_server.config.server), None, closing));
    let access = &*bench_server.test_engine.access;
    let token = server::tokens::issue(access, "console-bench", Role::Admin, WallClock.now(), None).await?;
    submit(&bench_server, behind, &json!({})).await?;
    let waiting = submit(&bench_server, waiting, &json!({"wait_ms": WAIT_MS})).await?;
    settle(&bench_server).await?;
    let ready = Ready { url: at, token: token.expose_secret().to_owned(), waiting };
    data(&serde_json::to_string(&ready)?)?;
    std::future::pending().await
}

async fn submit(bench_server: &BenchServer, count: usize, params: &Value) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        let some = (0..AT_ONCE.min(count - ids.len())).map(|_| {
            bench_server.test_engine.engine.submit_json(Command {
                name: None,
                workflow: WORKFLOW.to_owned(),
                tenant: "bench".to_owned(),
                resource: None,
                params: params.clone(),
                by: "bench".to_owned(),
                idempotency_key: None,
                queue: false,
            })
        });
        for accepted in futures_util::future::join_all(some).await {
            ids.push(accepted?.id.to_string());
        }
    }
    Ok(ids)
}

/// Waits until nothing runs, so that what is measured is the console.
async fn settle(bench_server: &BenchServer) -> Result<()> {
    loop {
        let stats = bench_server.test_engine.engine.stats().await?;
        if stats.owned + stats.due == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
