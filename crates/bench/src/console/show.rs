//! A process with engine, doors and console, so that its memory is its own.

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

use crate::desk::{Desk, Ground};
use crate::player::{Part, Player};
use provision_engine::listener::{Limits, serve};
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

pub(super) struct Show {
    player: Player,
    pub(super) url: String,
    pub(super) token: String,
    /// Operations that wait until somebody ends them.
    pub(super) waiting: Vec<String>,
}

impl Show {
    pub(super) async fn start(ground: &Ground, behind: usize, waiting: usize) -> Result<Show> {
        let behind = behind.to_string();
        let told = [(DIR, ground.dir()?), (BEHIND, behind.as_str())];
        let mut player = Player::start(&ground.target, Part::Show, waiting, &told)?;
        let Ready { url, token, waiting } = serde_json::from_str(&player.says().await?)?;
        Ok(Show { player, url, token, waiting })
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
    let behind: usize =
        std::env::var(BEHIND).context("nobody says how many operations there are to be")?.parse()?;
    let desk = Desk::open(&dir, file, url, &[]).await?;
    desk.start().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = format!("http://{}", listener.local_addr()?);
    let closing = CancellationToken::new();
    let (doors, inside) = desk.house.doors(&desk.config, &desk.meter, &closing)?;
    let router = desk.house.console(&desk.config, inside).into_iter().fold(doors, Router::merge);
    tokio::spawn(serve(listener, router, Limits::of(&desk.config.server), None, closing));
    let access = &*desk.house.access;
    let token = server::tokens::issue(access, "console-bench", Role::Admin, WallClock.now(), None).await?;
    submit(&desk, behind, &json!({})).await?;
    let waiting = submit(&desk, waiting, &json!({"wait_ms": WAIT_MS})).await?;
    settle(&desk).await?;
    let ready = Ready { url: at, token: token.expose_secret().to_owned(), waiting };
    data(&serde_json::to_string(&ready)?)?;
    std::future::pending().await
}

async fn submit(desk: &Desk, count: usize, params: &Value) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        let some = (0..AT_ONCE.min(count - ids.len())).map(|_| {
            desk.house.engine.submit_json(Command {
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
async fn settle(desk: &Desk) -> Result<()> {
    loop {
        let stats = desk.house.engine.stats().await?;
        if stats.owned + stats.due == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
