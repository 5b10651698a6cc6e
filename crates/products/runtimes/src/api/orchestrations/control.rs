//! `PUT /orchestrations/{id}/cancel`, `…/pause` and `…/resume`

use api::Code;
use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use server::audit::about;
use server::http::Failure;
use server::query::{Name, Query};

use super::{change, uuid_of, wire};
use crate::api::operators::{Operators, Shared};
use crate::model::orchestration::OrchestrationState;
use crate::model::orchestration::decide::{OrchestrationVerb, asked, is_at_end_of_canary};

/// Cancels an orchestration: what has not begun does not begin, and what runs is waited for.
#[utoipa::path(
    put, path = "/orchestrations/{id}/cancel", tag = "upgrades", operation_id = "cancel_orchestration",
    params(("id" = String, Path, description = "The id of the orchestration.")),
    responses(
        (status = OK, body = wire::StartedOrchestration, description = "It is being canceled, or was before."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
        (status = CONFLICT, description = "It is over: `conflict`; or `resource-changed`."),
    )
)]
pub(crate) async fn cancel_orchestration(
    State(app): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<impl IntoResponse, Failure> {
    query.finish()?;
    ask(&app, &id, OrchestrationVerb::Cancel).await
}

/// Pauses an orchestration: no further runtime is begun until it is resumed.
#[utoipa::path(
    put, path = "/orchestrations/{id}/pause", tag = "upgrades", operation_id = "pause_orchestration",
    params(("id" = String, Path, description = "The id of the orchestration.")),
    responses(
        (status = OK, body = wire::StartedOrchestration, description = "It is paused."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
        (status = CONFLICT, description = "It is over: `conflict`; or `resource-changed`."),
    )
)]
pub(crate) async fn pause_orchestration(
    State(app): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<impl IntoResponse, Failure> {
    query.finish()?;
    ask(&app, &id, OrchestrationVerb::Pause).await
}

/// Resumes an orchestration that was paused, by an operator or after its canary.
#[utoipa::path(
    put, path = "/orchestrations/{id}/resume", tag = "upgrades", operation_id = "resume_orchestration",
    params(("id" = String, Path, description = "The id of the orchestration.")),
    responses(
        (status = OK, body = wire::StartedOrchestration, description = "It continues."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
        (status = CONFLICT, description = "It is over: `conflict`; or `resource-changed`."),
    )
)]
pub(crate) async fn resume_orchestration(
    State(app): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<impl IntoResponse, Failure> {
    query.finish()?;
    ask(&app, &id, OrchestrationVerb::Resume).await
}

async fn ask(
    app: &Operators,
    id: &str,
    verb: OrchestrationVerb,
) -> Result<impl IntoResponse + use<>, Failure> {
    let record = change(&app.engine, id, |record| {
        let next = asked(record.state, verb).map_err(|why| Failure::new(Code::Conflict, why))?;
        let Some(next) = next else { return Ok(false) };
        record.state = next;
        record.description = String::from(match next {
            OrchestrationState::Paused => "paused by an operator",
            OrchestrationState::Canceling => "waiting for what runs",
            _ => "upgrading",
        });
        if next == OrchestrationState::InProgress {
            record.is_canary_over |= is_at_end_of_canary(record);
            record.failures = 0;
        }
        Ok(true)
    });
    let started = wire::StartedOrchestration { orchestration_id: uuid_of(&record.await?), skipped_count: 0 };
    Ok((about(&id), Json(started)))
}
