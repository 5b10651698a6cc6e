//! `GET /runtimes/{id}/operations`

use axum::Json;
use axum::extract::State;
use engine::store;

use super::Shared;
use super::find;
use api::types as wire;
use server::ToWire;
use server::http::Failure;
use server::paging::{cursor_after, parse_cursor};
use server::query::{Name, Query};

const LIMIT_DEFAULT: u16 = 50;
const LIMIT_MAX: u16 = 200;

/// The operations on a runtime, newest first.
#[utoipa::path(
    get, path = "/runtimes/{id}/operations", tag = "runtimes", operation_id = "list_runtime_operations",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime."),
           ("limit" = Option<u16>, Query, description = "1 to 200; 50 without it."),
           ("cursor" = Option<String>, Query, description = "`next` of the page before.")),
    responses(
        (status = OK, body = wire::OperationPage, description = "One page."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
    )
)]
pub(crate) async fn list_runtime_operations(
    State(app): State<Shared>,
    Name(id): Name,
    mut query: Query,
) -> Result<Json<wire::OperationPage>, Failure> {
    let limit = usize::from(query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT));
    let before = query.text("cursor")?.map(|text| parse_cursor(&text)).transpose()?;
    query.finish()?;
    let resource = Some(find(&app, &id).await?.row.name);
    let wanted =
        store::OperationQuery { resource, before, limit: limit + 1, ..store::OperationQuery::default() };
    let mut found = app.engine.list(&wanted).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|last| cursor_after(last.id));
    Ok(Json(wire::OperationPage { items: found.to_wire(), next, looked_at: None }))
}
