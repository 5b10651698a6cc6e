//! The part of the first page that changes.

use std::time::Duration;

use api::types::{FailureGroup, FailureGroups, Operation, OperationPage, OperationTotals, Phase};
use askama::Template;
use engine::Timestamp;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::try_join;

use super::chart::Chart;
use crate::api::ApiClient;
use crate::page_error::PageError;
use crate::parts::{Chip, Prose, ShortId, When};
use crate::path;
use crate::shared::ConsoleState;

/// Lines of each list.
const SHOWN: usize = 8;
const LATEST: usize = 12;
const DAY: Duration = Duration::from_hours(24);

#[derive(Template)]
#[template(path = "home_now.html")]
pub(super) struct HomePart {
    shared: ConsoleState,
    counts: Vec<PhaseCount>,
    charts: [Chart; 2],
    /// Stuck and paused ones: nothing moves them but a person.
    held: Vec<Operation>,
    failures: Vec<FailureGroup>,
    latest: Vec<Operation>,
    /// From when on failures are counted, as the filters of the list take it.
    since: String,
}

/// A number, and the list that has exactly so many rows.
struct PhaseCount {
    title: &'static str,
    number: String,
    path: String,
    tone: &'static str,
}

/// What the tiles count: a title, a tone, the phases, and whether only those of a day.
const TILES: [(&str, &str, &[Phase], bool); 4] = [
    ("Running", "busy", &[Phase::Running, Phase::Undoing], false),
    ("Waiting", "waits", &[Phase::Pending, Phase::Waiting], false),
    ("Needs an operator", "bad", &[Phase::Paused, Phase::Stuck], false),
    ("Failed, last 24 h", "bad", &[Phase::Failed, Phase::Undone], true),
];

impl HomePart {
    pub(super) async fn look(shared: &ConsoleState, api: &ApiClient) -> Result<HomePart, PageError> {
        let since = minute(shared.inside.engine().now().minus(DAY));
        let day = path::query([("created_after", format!("{since}:00Z").as_str())]);
        let failed = format!("{day}&phase=failed,undone&housekeeping=hide");
        let paths = [
            format!("/operations?limit={LATEST}&housekeeping=hide"),
            format!("/operations?phase=stuck,paused&limit={SHOWN}&housekeeping=hide"),
        ];
        let [latest, held] = paths.each_ref().map(|path| api.get::<OperationPage>(path));
        let unfinished =
            "/operations/totals?phase=pending,running,waiting,undoing,paused,stuck&housekeeping=hide";
        let ended = format!("/operations/totals{failed}");
        let groups = format!("/operations/failures{failed}");
        let (latest, held, unfinished, ended, groups) = try_join!(
            latest,
            held,
            api.get::<OperationTotals>(unfinished),
            api.get::<OperationTotals>(&ended),
            api.get::<FailureGroups>(&groups)
        )?;
        let minutes = shared.history.minutes();
        Ok(HomePart {
            shared: ConsoleState::clone(shared),
            counts: counts(&unfinished, &ended, &since),
            charts: [Chart::of_finished(&minutes), Chart::of_durations(&minutes)],
            held: held.items,
            failures: groups.items.into_iter().take(SHOWN).collect(),
            latest: latest.items,
            since,
        })
    }

    /// Nothing was ever started, or everything is forgotten already.
    pub(super) fn is_new(&self) -> bool {
        self.latest.is_empty()
    }

    /// All failures of the same workflow.
    fn failures_of(&self, workflow: &str) -> String {
        list([("phase", "failed,undone"), ("workflow", workflow), ("after", &self.since)])
    }
}

fn list<const N: usize>(filters: [(&str, &str); N]) -> String {
    format!("/console/operations{}", path::query(filters))
}

fn counts(unfinished: &OperationTotals, ended: &OperationTotals, since: &str) -> Vec<PhaseCount> {
    let count = |&(title, tone, phases, is_of_day): &(&'static str, &'static str, &[Phase], bool)| {
        let totals = if is_of_day { ended } else { unfinished };
        let number: u64 = phases.iter().filter_map(|phase| totals.phases.get(phase)).sum();
        let more = if totals.is_complete { "" } else { "+" };
        let names: Vec<&str> = phases.iter().map(|phase| phase.as_str()).collect();
        let after = if is_of_day { since } else { "" };
        PhaseCount {
            title,
            number: format!("{number}{more}"),
            path: list([("phase", names.join(",").as_str()), ("after", after)]),
            tone: if number == 0 { "none" } else { tone },
        }
    };
    TILES.iter().map(count).collect()
}

/// The minute of a moment, as browsers write it.
fn minute(at: Timestamp) -> String {
    let shape = format_description!("[year]-[month]-[day]T[hour]:[minute]");
    let at = OffsetDateTime::from_unix_timestamp(at.0 / 1_000_000).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    at.format(&shape).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_console::TestConsole;

    #[tokio::test]
    async fn a_tile_counts_what_its_list_shows() {
        let test_console = TestConsole::new();
        for _ in 0..3 {
            test_console.submit().await;
        }
        let now = HomePart::look(&test_console.shared, &test_console.api()).await.unwrap();
        let numbers: Vec<(&str, &str)> =
            now.counts.iter().map(|count| (count.title, count.number.as_str())).collect();
        assert_eq!(numbers[..3], [("Running", "0"), ("Waiting", "3"), ("Needs an operator", "0")]);
        for count in &now.counts {
            let query =
                count.path.trim_start_matches("/console/operations").replace("after=", "created_after=");
            let query = query.replace("%3A", ":");
            let (query, moment) = query.split_once("&created_after=").unwrap_or((query.as_str(), ""));
            let moment =
                if moment.is_empty() { String::new() } else { format!("&created_after={moment}:00Z") };
            let found: OperationPage =
                test_console.api().get(&format!("/operations{query}{moment}")).await.unwrap();
            assert_eq!(found.items.len().to_string(), count.number, "{}", count.path);
        }
        assert_eq!(now.latest.len(), 3);
    }
}
