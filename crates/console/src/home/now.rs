//! The part of the first page that changes.

use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use doors::wire::{JournalEntry, JournalPage, Operation, OperationPage};
use engine::store::{STATS_COUNT_MAX, Stats};

use super::chart::Chart;
use crate::api::Api;
use crate::desk::Hub;
use crate::parts::{Chip, Prose, Resource, When};
use crate::path;
use crate::trouble::Trouble;

/// Lines of each list.
const SHOWN: usize = 8;
/// More failures of a day are not counted.
const FAILURES_MAX: usize = 100;
const DAY: Duration = Duration::from_hours(24);

#[derive(Template)]
#[template(path = "home_now.html")]
pub(super) struct Now {
    counts: [Count; 4],
    charts: [Chart; 2],
    /// Stuck and paused ones: nothing moves them but a person.
    held: Vec<Operation>,
    failed: Vec<Operation>,
    latest: Vec<Operation>,
    events: Vec<Happened>,
}

struct Count {
    title: &'static str,
    number: String,
    path: &'static str,
    tone: &'static str,
}

struct Happened {
    operation: String,
    entry: JournalEntry,
}

impl Now {
    pub(super) async fn look(desk: &Hub, api: &Api) -> Result<Now, Trouble> {
        let latest: OperationPage = api.get(&format!("/operations?limit={SHOWN}")).await?;
        let held: OperationPage = api.get(&format!("/operations?phase=stuck,paused&limit={SHOWN}")).await?;
        let since = desk.inside.engine().now().minus(DAY).to_string();
        let failures = path::query([("created_after", since.as_str())]);
        let failed: OperationPage =
            api.get(&format!("/operations{failures}&phase=failed,undone&limit={FAILURES_MAX}")).await?;
        let stats = desk.inside.engine().stats().await.map_err(|error| {
            Trouble::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", error.to_string())
        })?;
        let samples = desk.pulse.samples();
        Ok(Now {
            counts: counts(&stats, &failed),
            charts: [Chart::of_finished(&samples), Chart::of_oldest(&samples)],
            held: held.items,
            failed: failed.items.into_iter().take(SHOWN).collect(),
            latest: latest.items,
            events: events(desk, api).await,
        })
    }

    /// Nothing was ever started, or everything is forgotten already.
    pub(super) fn is_new(&self) -> bool {
        self.latest.is_empty()
    }
}

fn counts(stats: &Stats, failed: &OperationPage) -> [Count; 4] {
    let number = |count: u64| {
        if count >= STATS_COUNT_MAX { format!("{STATS_COUNT_MAX}+") } else { count.to_string() }
    };
    let more = if failed.next.is_some() { "+" } else { "" };
    let tone = |tone: &'static str, count: u64| if count == 0 { "none" } else { tone };
    let waiting = stats.waiting + stats.due;
    [
        Count {
            title: "Running",
            number: number(stats.owned),
            path: "/console/operations?phase=running%2Cundoing",
            tone: tone("busy", stats.owned),
        },
        Count {
            title: "Waiting",
            number: number(waiting),
            path: "/console/operations?phase=pending%2Cwaiting%2Cundoing",
            tone: tone("waits", waiting),
        },
        Count {
            title: "Stuck",
            number: number(stats.stuck),
            path: "/console/operations?phase=paused%2Cstuck",
            tone: tone("bad", stats.stuck),
        },
        Count {
            title: "Failed, of the last 24 h",
            number: format!("{}{more}", failed.items.len()),
            path: "/console/operations?phase=failed%2Cundone",
            tone: tone("bad", failed.items.len() as u64),
        },
    ]
}

async fn events(desk: &Hub, api: &Api) -> Vec<Happened> {
    let mut events = Vec::new();
    for (id, seq) in desk.pulse.events() {
        let before = seq.saturating_sub(1);
        let path = format!("/operations/{id}/journal?after={before}&limit=1");
        // It may be forgotten already.
        let Ok(found) = api.get::<JournalPage>(&path).await else { continue };
        events.extend(found.items.into_iter().map(|entry| Happened { operation: id.to_string(), entry }));
    }
    events
}
