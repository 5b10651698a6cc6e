//! `GET /operations/totals` and `GET /operations/failures`

use std::collections::BTreeMap;

use axum::extract::State;
use axum::{Extension, Json};
use engine::Phase;
use engine::store::Summary;

use super::wanted::Filters;
use crate::app_state::Shared;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::Query;
use crate::wire::{self, ToWire};

/// Operations that are counted.
const COUNTED_MAX: usize = 10_000;
/// Failures that are compared.
const FAILURES_MAX: usize = 1000;
const GROUPS_MAX: usize = 20;

/// How many operations fit, by phase. Counts the newest 10,000 at most.
#[utoipa::path(
    get, path = "/operations/totals", tag = "operations", operation_id = "count_operations",
    params(wire::TotalsQuery),
    responses((status = OK, body = wire::OperationTotals, description = "The counts."))
)]
pub(crate) async fn count_operations(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    mut query: Query,
) -> Result<Json<wire::OperationTotals>, Failure> {
    let mut filters = Filters::read(&app.engine, principal, &mut query)?;
    query.finish()?;
    filters.query.limit = COUNTED_MAX;
    let mut phases: BTreeMap<wire::Phase, u64> = BTreeMap::new();
    let mut counted = 0;
    for total in app.engine.totals(&filters.query).await? {
        counted += total.count;
        if filters.shows(&total.workflow) {
            *phases.entry(total.phase.to_wire()).or_default() += total.count;
        }
    }
    Ok(Json(wire::OperationTotals { phases, is_complete: counted < COUNTED_MAX as u64 }))
}

/// Operations that failed, grouped by workflow and cause, the most frequent first. Compares the newest 1,000 failures at
/// most. Ids and numbers in a cause do not make it another one.
#[utoipa::path(
    get, path = "/operations/failures", tag = "operations", operation_id = "group_failures",
    params(wire::TotalsQuery),
    responses((status = OK, body = wire::FailureGroups, description = "At most 20 groups."))
)]
pub(crate) async fn group_failures(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    mut query: Query,
) -> Result<Json<wire::FailureGroups>, Failure> {
    let mut filters = Filters::read(&app.engine, principal, &mut query)?;
    query.finish()?;
    filters.query.limit = FAILURES_MAX;
    if filters.query.phases.is_empty() {
        filters.query.phases = vec![Phase::Failed, Phase::Undone];
    }
    let found = app.engine.list(&filters.query).await?;
    let shown = found.into_iter().filter(|one| filters.shows(&one.workflow));
    Ok(Json(wire::FailureGroups { items: groups(shown) }))
}

fn groups(found: impl Iterator<Item = Summary>) -> Vec<wire::FailureGroup> {
    let mut groups: Vec<(String, wire::FailureGroup)> = Vec::new();
    for one in found {
        let cause = pattern(one.reason.as_deref().unwrap_or_default());
        let known =
            groups.iter_mut().find(|(known, group)| *known == cause && group.latest.workflow == one.workflow);
        match known {
            Some((_, group)) => group.count += 1,
            None => groups.push((cause, wire::FailureGroup { count: 1, latest: one.to_wire() })),
        }
    }
    let mut groups: Vec<wire::FailureGroup> = groups.into_iter().map(|(_, group)| group).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.truncate(GROUPS_MAX);
    groups
}

/// A cause without what differs between two operations: words with a digit are ids, numbers and times.
fn pattern(cause: &str) -> String {
    let word = |word: &str| {
        if word.contains(|c: char| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
    };
    cause.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_differ_in_ids_and_numbers_are_one() {
        assert_eq!(pattern("i-0abc1 is gone after 3 s"), pattern("i-0def2 is gone  after 41 s"));
        assert_ne!(pattern("the quota is used up"), pattern("the image is gone"));
    }
}
