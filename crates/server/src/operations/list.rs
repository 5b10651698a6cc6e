//! `GET /operations`

use axum::Json;
use axum::extract::State;
use engine::{OperationId, Phase, store};

use crate::app_state::Shared;
use crate::http::Failure;
use crate::paging::{cursor_after, parse_cursor};
use crate::query::{Query, not_allowed};
use crate::wire::{self, ToWire};

const LIMIT_DEFAULT: u16 = 50;
const LIMIT_MAX: u16 = 200;

/// Operations, newest first.
#[utoipa::path(
    get, path = "/operations", tag = "operations", operation_id = "list_operations",
    params(wire::ListQuery),
    responses((status = OK, body = wire::OperationPage, description = "One page."))
)]
pub(crate) async fn list_operations(
    State(app): State<Shared>,
    query: Query,
) -> Result<Json<wire::OperationPage>, Failure> {
    let mut wanted = parse(query)?;
    let limit = wanted.limit;
    // One more than asked for tells whether there is a next page.
    wanted.limit += 1;
    let mut found = app.engine.list(&wanted).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|last| cursor_after(last.id));
    let items = found.to_wire();
    Ok(Json(wire::OperationPage { items, next }))
}

fn parse(mut query: Query) -> Result<store::Query, Failure> {
    let workflow = query.text("workflow")?;
    let phases = phases(&query.all("phase"))?;
    let tenant = query.text("tenant")?;
    let resource = query.text("resource")?;
    let from = query.moment("created_after")?.map(OperationId::first_at);
    let until = query.moment("created_before")?.map(OperationId::first_at);
    let limit = query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let cursor = query.text("cursor")?.map(|text| parse_cursor(&text)).transpose()?;
    query.finish()?;
    let before = [until, cursor].into_iter().flatten().min();
    Ok(store::Query { workflow, phases, tenant, resource, before, from, limit: usize::from(limit) })
}

fn phases(values: &[String]) -> Result<Vec<Phase>, Failure> {
    let names = values.iter().flat_map(|value| value.split(','));
    let known = Phase::ALL.map(Phase::as_str).join(", ");
    let parse =
        |name: &str| name.trim().parse().map_err(|_| not_allowed("phase", name, &format!("one of {known}")));
    let mut phases = names.map(parse).collect::<Result<Vec<Phase>, Failure>>()?;
    phases.sort_unstable();
    phases.dedup();
    Ok(phases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_come_in_lists_or_one_by_one_and_a_wrong_one_is_refused_with_the_right_ones() {
        let values = ["stuck,running".to_owned(), "running".to_owned()];
        assert_eq!(phases(&values).unwrap(), [Phase::Running, Phase::Stuck]);
        let problem = phases(&["done".to_owned()]).unwrap_err().into_error(crate::error::fault);
        assert!(problem.detail.contains("succeeded"), "{}", problem.detail);
        assert!(phases(&["running,".to_owned()]).is_err());
    }
}
