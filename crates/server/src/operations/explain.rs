//! `GET /operations/{id}/explain`

use axum::extract::State;
use axum::{Extension, Json};
use engine::store::{self, QUEUED, StoreError, Summary};
use engine::{Body, Capability, OperationId, Phase, PhaseVerb};

use super::explanation::{OperationFacts, PausedBy, explain};
use super::inspect;
use crate::app_state::{AppState, Shared};
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::{Id, Query};
use crate::wire;

/// Events read at a time, and how often, to find out who paused an operation.
const PAGE: usize = 1000;
const PAGES_MAX: usize = 50;
/// Operations on one resource that are looked at.
const NEIGHBOURS_MAX: usize = 200;

/// Why an operation is not finished, and what can be done about it.
///
/// Works in every phase; of a finished operation it says how it ended.
#[utoipa::path(
    get, path = "/operations/{id}/explain", tag = "operations", operation_id = "explain",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation.")),
    responses(
        (status = OK, body = wire::Explanation, description = "The reason."),
        (status = NOT_FOUND, description = "There is none: `operation-not-found`."),
    )
)]
pub(crate) async fn explain_operation(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    query: Query,
) -> Result<Json<wire::Explanation>, Failure> {
    query.finish()?;
    let inspection = inspect(&app, &principal, Capability::Read, id).await?;
    let summary = &inspection.shown.summary;
    let paused_by = match summary.phase {
        Phase::Paused => paused_by(&app, id).await?,
        _ => None,
    };
    let queued_behind = match &summary.resource {
        Some(resource) if is_queued(summary) => holder(&app, resource).await?,
        _ => None,
    };
    let plan = app.engine.plan_of(&inspection);
    let now = app.engine.now();
    let known =
        OperationFacts { inspection: &inspection, plan: plan.as_ref(), now, paused_by, queued_behind };
    Ok(Json(explain(&known)))
}

fn is_queued(summary: &Summary) -> bool {
    summary.phase == Phase::Pending && summary.reason.as_deref() == Some(QUEUED)
}

async fn paused_by(app: &AppState, id: OperationId) -> Result<Option<PausedBy>, StoreError> {
    let (mut after, mut last) = (0, None);
    for _ in 0..PAGES_MAX {
        let events = app.engine.journal(id, after, PAGE).await?;
        let Some(newest) = events.last() else { break };
        after = newest.seq;
        for event in events {
            if let Body::Asked { verb: PhaseVerb::Pause, by, reason, .. } = event.body {
                last = Some(PausedBy { by, reason, at: event.at });
            }
        }
    }
    Ok(last)
}

/// The operation that has the resource.
async fn holder(app: &AppState, resource: &str) -> Result<Option<OperationId>, StoreError> {
    let phases = Phase::ALL.into_iter().filter(|phase| !phase.is_final()).collect();
    let resource = Some(resource.to_owned());
    let query =
        store::OperationQuery { phases, resource, limit: NEIGHBOURS_MAX, ..store::OperationQuery::default() };
    let neighbours = app.engine.list(&query).await?;
    Ok(neighbours.iter().find(|neighbour| !is_queued(neighbour)).map(|neighbour| neighbour.id))
}
