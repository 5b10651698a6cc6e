//! The console on one database: what a first page costs, how soon a page knows, and what open pages need.

mod browser;
mod show;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::{Clock, WallClock};
use serde::Serialize;

use super::bench_server::BenchDatabase;
use super::load::{as_float, percentile};
use super::measure::Effort;
use super::target::BenchDatabaseKind;
use browser::Browser;
use provision_engine::output::note;
use show::ShowMeasurement;
pub(super) use show::play;

/// So often a page is asked for.
const LOOKS: usize = 200;
/// Of so many operations a change is waited for on an open page.
const CHANGES: usize = 50;

/// What was measured on one database.
#[derive(Debug, Serialize)]
pub(super) struct Consoled {
    pub(super) name: &'static str,
    /// In the list behind the page.
    pub(super) operations: usize,
    /// The same list, asked for over the API: the base.
    pub(super) api_p50_ms: f64,
    pub(super) page_p50_ms: f64,
    pub(super) page_p99_ms: f64,
    /// Of the first page with all that it loads, as it goes over the wire.
    pub(super) first_page_kb: f64,
    /// From the commit to the page.
    pub(super) change_p50_ms: f64,
    pub(super) change_p99_ms: f64,
    pub(super) streams: usize,
    pub(super) memory_before_mb: f64,
    pub(super) memory_streams_mb: f64,
}

pub(super) async fn measure(target: &BenchDatabaseKind, effort: &Effort) -> Result<Consoled> {
    let bench_database = BenchDatabase::beside(target, "console")?;
    let show =
        ShowMeasurement::start(&bench_database, effort.pages_behind, effort.streams.max(CHANGES)).await?;
    let browser = Browser::sign_in(&show.url, &show.token).await?;
    note(format!("  console, {} operations", effort.pages_behind));
    let (mut page, mut api) = (Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        page.push(browser.page("/console/operations").await?.server_ms);
        api.push(browser.api("/operations?limit=50").await?);
    }
    let first_page_kb = browser.first_page_kb("/console").await?;
    let memory_before_mb = show.memory_mb()?;
    note(format!("  console, {} open pages", effort.streams));
    let mut open = Vec::new();
    for id in show.waiting.iter().take(effort.streams) {
        open.push(browser.open(&format!("/console/operations/{id}/live")).await?);
    }
    let memory_streams_mb = show.memory_mb()?;
    drop(open);
    let mut changes = Vec::new();
    for id in show.waiting.iter().rev().take(CHANGES) {
        changes.push(change(&browser, id).await?);
    }
    show.end().await?;
    Ok(Consoled {
        name: target.name(),
        operations: effort.pages_behind,
        api_p50_ms: percentile(&mut api, 50),
        page_p50_ms: percentile(&mut page, 50),
        page_p99_ms: percentile(&mut page, 99),
        first_page_kb,
        change_p50_ms: percentile(&mut changes, 50),
        change_p99_ms: percentile(&mut changes, 99),
        streams: effort.streams,
        memory_before_mb,
        memory_streams_mb,
    })
}

/// Milliseconds from the commit that ends an operation to the page that says so.
async fn change(browser: &Browser, id: &str) -> Result<f64> {
    let mut stream = browser.open(&format!("/console/operations/{id}/live")).await?;
    browser.cancel(id).await?;
    let told = tokio::time::timeout(Duration::from_secs(30), stream.until("data-over"));
    told.await.context("the page does not learn that its operation ended")??;
    let now = WallClock.now();
    let saved = browser.finished_at(id).await?;
    ensure!(saved <= now, "a page knew of a commit before it was made");
    Ok(now.since(saved).as_secs_f64() * 1000.0)
}

impl Consoled {
    /// With the words for people.
    pub(super) fn figures(&self) -> Vec<(String, f64)> {
        let Consoled { operations, streams, .. } = self;
        vec![
            (format!("base: ms for 50 of {operations} operations over the API, median"), self.api_p50_ms),
            (
                format!("C1 ms on the server for a page of 50 of {operations} operations, median"),
                self.page_p50_ms,
            ),
            ("C1 the same, 99 %".to_owned(), self.page_p99_ms),
            ("C1 a page ÷ base, median".to_owned(), self.page_p50_ms / self.api_p50_ms),
            ("C2 kB of the first page with all that it loads".to_owned(), self.first_page_kb),
            ("C3 ms from a commit to the page, median".to_owned(), self.change_p50_ms),
            ("C3 ms from a commit to the page, 99 %".to_owned(), self.change_p99_ms),
            ("C4 MB of memory, no page open".to_owned(), self.memory_before_mb),
            (format!("C4 MB of memory, {streams} pages open"), self.memory_streams_mb),
            (
                "C4 kB for each open page".to_owned(),
                (self.memory_streams_mb - self.memory_before_mb) * 1024.0 / as_float(*streams as u64),
            ),
        ]
    }
}
