//! `GET /operations/{id}/journal`

use axum::extract::State;
use axum::{Extension, Json};
use engine::Capability;

use super::inspect;
use crate::app_state::Shared;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::{Id, Query};
use crate::wire::{self, ToWire};

const LIMIT_DEFAULT: u16 = 100;
const LIMIT_MAX: u16 = 500;

/// What happened to an operation, oldest first.
#[utoipa::path(
    get, path = "/operations/{id}/journal", tag = "operations", operation_id = "get_journal",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation."), wire::JournalQuery),
    responses(
        (status = OK, body = wire::JournalPage, description = "One page."),
        (status = NOT_FOUND, description = "There is none: `operation-not-found`."),
    )
)]
pub(crate) async fn get_journal(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    mut query: Query,
) -> Result<Json<wire::JournalPage>, Failure> {
    let after = query.number("after", 0..=u32::MAX)?.unwrap_or(0);
    let limit = usize::from(query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT));
    query.finish()?;
    if !principal.can(Capability::Read) {
        inspect(&app, &principal, Capability::Read, id).await?;
    }
    let mut events = app.engine.journal(id, after, limit + 1).await?;
    if events.is_empty() {
        // No news of an operation is an answer; no operation is not.
        inspect(&app, &principal, Capability::Read, id).await?;
    }
    let has_more = events.len() > limit;
    events.truncate(limit);
    let next = events.last().filter(|_| has_more).map(|last| last.seq);
    Ok(Json(wire::JournalPage { items: events.iter().map(ToWire::to_wire).collect(), next }))
}
