//! The part of the first page that changes.

use std::time::Duration;

use api::types::{JournalEntry, JournalPage, Operation, OperationPage};
use askama::Template;
use axum::http::StatusCode;
use engine::OperationId;
use engine::store::{STATS_COUNT_MAX, Stats};
use futures_util::future::join_all;
use tokio::try_join;

use super::chart::Chart;
use crate::api::Api;
use crate::desk::{Desk, Hub};
use crate::parts::{Chip, Prose, When};
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
    desk: Desk,
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

#[derive(Clone)]
struct Happened {
    operation: OperationId,
    entry: JournalEntry,
}

/// The last events, as far as they were read. What has happened does not change.
#[derive(Default)]
pub(super) struct Known(Vec<Happened>);

impl Now {
    pub(super) async fn look(desk: &Desk, api: &Api, known: &mut Known) -> Result<Now, Trouble> {
        let since = desk.inside.engine().now().minus(DAY).to_string();
        let failures = path::query([("created_after", since.as_str())]);
        let paths = [
            format!("/operations?limit={SHOWN}"),
            format!("/operations?phase=stuck,paused&limit={SHOWN}"),
            format!("/operations{failures}&phase=failed,undone&limit={FAILURES_MAX}"),
        ];
        let [latest, held, failed] = paths.each_ref().map(|path| api.get::<OperationPage>(path));
        let events = async { Ok(known.read_on(desk.pulse.events(), api).await) };
        let (latest, held, failed, stats, events) = try_join!(latest, held, failed, stats(desk), events)?;
        let samples = desk.pulse.samples();
        Ok(Now {
            desk: Desk::clone(desk),
            counts: counts(&stats, &failed),
            charts: [Chart::of_finished(&samples), Chart::of_oldest(&samples)],
            held: held.items,
            failed: failed.items.into_iter().take(SHOWN).collect(),
            latest: latest.items,
            events,
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

async fn stats(desk: &Hub) -> Result<Stats, Trouble> {
    let counted = desk.inside.engine().stats().await;
    counted.map_err(|error| Trouble::new(StatusCode::SERVICE_UNAVAILABLE, "Please wait", error.to_string()))
}

impl Known {
    /// These events, of which only those are asked for that are new.
    async fn read_on(&mut self, wanted: Vec<(OperationId, u32)>, api: &Api) -> Vec<Happened> {
        let known = &self.0;
        let read = wanted.into_iter().map(|(operation, seq)| async move {
            let mut known = known.iter();
            match known.find(|one| one.operation == operation && one.entry.seq == seq) {
                Some(known) => Some(known.clone()),
                // It may be forgotten already.
                None => event(api, operation, seq).await.map(|entry| Happened { operation, entry }),
            }
        });
        self.0 = join_all(read).await.into_iter().flatten().collect();
        self.0.clone()
    }
}

async fn event(api: &Api, operation: OperationId, seq: u32) -> Option<JournalEntry> {
    let before = seq.saturating_sub(1);
    let found: JournalPage =
        api.get(&format!("/operations/{operation}/journal?after={before}&limit=1")).await.ok()?;
    found.items.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[tokio::test]
    async fn what_was_read_once_is_not_asked_for_again() {
        let world = World::new();
        for _ in 0..3 {
            world.submit().await;
        }
        let (api, mut known) = (world.api(), Known::default());
        let mut look = async || {
            let before = world.asked();
            let now = Now::look(&world.desk, &api, &mut known).await.unwrap();
            (now.latest.len(), now.events.len(), world.asked() - before)
        };
        assert_eq!(look().await, (3, 3, 3 + 3));
        assert_eq!(look().await, (3, 3, 3));
        world.submit().await;
        assert_eq!(look().await, (4, 4, 3 + 1));
    }
}
