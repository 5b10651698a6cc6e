//! The base: how many commits of a single row the same database makes.

use std::time::Duration;

use anyhow::Result;
use engine::{Clock, WallClock};
use serde::Serialize;

use super::load::percentile;
use super::target::BenchDatabaseKind;

/// Commits per second with this many connections.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Base {
    pub(super) connections: usize,
    pub(super) commits_per_second: f64,
    pub(super) commit_p50_ms: f64,
}

pub(super) async fn measure(
    target: &BenchDatabaseKind,
    connections: usize,
    window: Duration,
) -> Result<Base> {
    let millis = match target.sqlite_file() {
        Some(file) => {
            let file = file.with_file_name("base.db");
            vec![tokio::task::spawn_blocking(move || sqlite(&file, window)).await??]
        }
        None => postgres(target, connections, window).await?,
    };
    let mut all: Vec<f64> = millis.into_iter().flatten().collect();
    #[expect(clippy::cast_precision_loss, reason = "a count of commits is far below 2^52")]
    let commits_per_second = all.len() as f64 / window.as_secs_f64();
    Ok(Base { connections, commits_per_second, commit_p50_ms: percentile(&mut all, 50) })
}

fn sqlite(file: &std::path::Path, window: Duration) -> Result<Vec<f64>> {
    let db = rusqlite::Connection::open(file)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "full")?;
    db.execute_batch(
        "create table if not exists base (id integer primary key, n integer not null) strict;
         insert or ignore into base values (1, 0)",
    )?;
    let mut update = db.prepare("update base set n = n + 1 where id = 1")?;
    let end = WallClock.now().plus(window);
    let mut millis = Vec::new();
    loop {
        let began = WallClock.now();
        if began >= end {
            return Ok(millis);
        }
        update.execute([])?;
        millis.push(WallClock.now().since(began).as_secs_f64() * 1000.0);
    }
}

async fn postgres(target: &BenchDatabaseKind, connections: usize, window: Duration) -> Result<Vec<Vec<f64>>> {
    let client = target.connect().await?;
    client
        .batch_execute(
            "create table if not exists bench_base (id int primary key, n int not null) with (fillfactor = 50);
             insert into bench_base select i, 0 from generate_series(1, 64) i on conflict do nothing",
        )
        .await?;
    let mut tasks = Vec::new();
    for number in 1..=connections {
        let client = target.connect().await?;
        let update = client.prepare("update bench_base set n = n + 1 where id = $1").await?;
        let id = i32::try_from(number)?;
        tasks.push(tokio::spawn(async move {
            let end = WallClock.now().plus(window);
            let mut millis = Vec::new();
            loop {
                let began = WallClock.now();
                if began >= end {
                    return anyhow::Ok(millis);
                }
                client.execute(&update, &[&id]).await?;
                millis.push(WallClock.now().since(began).as_secs_f64() * 1000.0);
            }
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await??);
    }
    Ok(all)
}
