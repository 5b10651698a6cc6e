//! `GET /runtimes/{id}/events`

use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use engine::store::{self, Summary};
use engine::{Because, Body, Engine, Event, Phase};

use super::Shared;
use super::find;
use crate::api::types;
use server::ToWire;
use server::http::Failure;
use server::query::{Name, Query};
use server::sentence::describe;

const LIMIT_DEFAULT: u16 = 200;
const LIMIT_MAX: u16 = 1000;
/// Older operations have their journals under `/operations`.
const OPERATIONS_MAX: usize = 10;
const PAGE: usize = 500;
/// Of one journal; the end of a longer one is under `/operations`.
const PAGES_MAX: usize = 20;

/// What happened to a runtime, newest first.
#[utoipa::path(
    get, path = "/runtimes/{id}/events", tag = "runtimes", operation_id = "list_runtime_events",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime."),
           ("limit" = Option<u16>, Query, description = "1 to 1000; 200 without it.")),
    responses(
        (status = OK, body = types::RuntimeEvents, description = "The newest lines."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
    )
)]
pub(crate) async fn list_runtime_events(
    State(app): State<Shared>,
    Name(id): Name,
    mut query: Query,
) -> Result<Json<types::RuntimeEvents>, Failure> {
    let limit = usize::from(query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT));
    query.finish()?;
    let resource = Some(find(&app, &id).await?.row.name);
    let newest =
        store::OperationQuery { resource, limit: OPERATIONS_MAX, ..store::OperationQuery::default() };
    let mut items = Vec::new();
    for operation in app.engine.list(&newest).await? {
        let room = limit - items.len();
        if room == 0 {
            break;
        }
        items.extend(last_events(&app.engine, &operation, room).await?.map(|(_, line)| line));
    }
    Ok(Json(types::RuntimeEvents { items }))
}

/// The last lines of a journal with their numbers, the last one first. Journals are read from their beginning.
pub(super) async fn last_events(
    engine: &Engine,
    operation: &Summary,
    limit: usize,
) -> Result<impl Iterator<Item = (u32, types::RuntimeEvent)> + use<>, Failure> {
    let mut last: VecDeque<(u32, types::RuntimeEvent)> = VecDeque::new();
    let mut after = 0;
    for _ in 0..PAGES_MAX {
        let events = engine.journal(operation.id, after, PAGE).await?;
        last.extend(events.iter().map(|event| (event.seq, line(operation, event))));
        last.drain(..last.len().saturating_sub(limit));
        match events.last() {
            Some(event) if events.len() == PAGE => after = event.seq,
            _ => break,
        }
    }
    Ok(last.into_iter().rev())
}

fn line(operation: &Summary, event: &Event) -> types::RuntimeEvent {
    types::RuntimeEvent {
        at: event.at.to_wire(),
        level: level(&event.body),
        operation: operation.id.0,
        workflow: operation.workflow.clone(),
        text: describe(event),
    }
}

fn level(body: &Body) -> types::Level {
    match body {
        Body::Retried { .. } | Body::Adopted { .. } => types::Level::Warning,
        Body::Turned { because: Because::Failed, .. }
        | Body::Stuck { .. }
        | Body::Finished { phase: Phase::Failed | Phase::Undone, .. } => types::Level::Error,
        _ => types::Level::Info,
    }
}
