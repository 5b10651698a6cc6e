//! `GET /operations/{id}`

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine::{Capability, Inspection, WorkflowInfo, masked};
use serde_json::Value;

use super::inspect;
use super::progress::{cause, left_over, steps};
use crate::app_state::Shared;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::{Id, Query};
use crate::tokens::digest;
use crate::wire::{self, ToWire};

/// Everything about one operation except its journal.
///
/// The answer has an `ETag`; who sends it back in `If-None-Match` gets a short 304 while nothing has changed.
#[utoipa::path(
    get, path = "/operations/{id}", tag = "operations", operation_id = "get_operation",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation."),
           ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer.")),
    responses(
        (status = OK, body = wire::OperationDetail, description = "The operation.",
         headers(("etag" = String, description = "Changes whenever the answer does."))),
        (status = NOT_MODIFIED, description = "It is as the caller knows it."),
        (status = NOT_FOUND, description = "There is none: `operation-not-found`."),
    )
)]
pub async fn get_operation(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    query.finish()?;
    let inspection = inspect(&app, &principal, Capability::Read, id).await?;
    let plan = app.engine.plan_of(&inspection);
    let detail = detail(inspection, plan.as_ref());
    let tag = tag(&detail)?;
    // Callers may keep the answer, but must ask each time whether it still holds.
    let caching = [(ETAG, tag.clone()), (CACHE_CONTROL, "private, no-cache".to_owned())];
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    Ok((caching, Json(detail)).into_response())
}

fn detail(inspection: Inspection, plan: Option<&WorkflowInfo>) -> wire::OperationDetail {
    let steps = steps(&inspection, plan);
    let cause = cause(&inspection);
    let left_over = left_over(&inspection, plan);
    let Inspection { shown, memory, .. } = inspection;
    let params = serde_json::from_str(&shown.params).unwrap_or(Value::Null);
    let operation = shown.summary.to_wire();
    wire::OperationDetail {
        params: masked(params),
        state: masked(memory.state),
        facts: memory.facts.into_iter().map(|(key, value)| (key, masked(value))).collect(),
        steps,
        cause,
        next_attempt: operation.due_at.filter(|_| !operation.phase.is_final()),
        last_error: memory.last_error.as_ref().to_wire(),
        left_over,
        operation,
    }
}

/// Made of the whole answer, so that it changes exactly when the answer does.
fn tag(detail: &wire::OperationDetail) -> Result<String, Failure> {
    let text = serde_json::to_string(detail).map_err(|_| Failure::internal())?;
    Ok(format!("\"{}\"", &digest(&text)[..32]))
}

pub fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_a_list_also_when_a_proxy_made_it_weak() {
        let known =
            |text: &str| is_known(&HeaderMap::from_iter([(IF_NONE_MATCH, text.parse().unwrap())]), "\"a\"");
        assert!(known("\"a\"") && known("\"b\", W/\"a\"") && known("*"));
        assert!(!known("\"b\"") && !known("a"));
    }
}
