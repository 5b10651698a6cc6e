//! `POST /operations/{id}/cancel`, `pause`, `resume` and `retry`

use api::Code;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::{Capability, OperationId, PhaseVerb};

use super::inspect;
use crate::app_state::{AppState, Shared};
use crate::audit::about;
use crate::error;
use crate::http::Failure;
use crate::http::body::MaybeJson;
use crate::principal::Principal;
use crate::query::Id;
use crate::wire::{self, ToWire};

const REASON_CHARS_MAX: usize = 500;

/// What all four answer.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "it only documents")]
enum Answers {
    /// It is asked; `asked` shows it until it is heard.
    #[response(status = ACCEPTED)]
    Accepted(wire::Operation),
    /// There is none: `operation-not-found`.
    #[response(status = NOT_FOUND, content_type = "application/problem+json")]
    Missing(wire::Problem),
    /// Not in this phase: `not-now`. Or another operation has the resource: `resource-busy`.
    #[response(status = CONFLICT, content_type = "application/problem+json")]
    Refused(wire::Problem),
}

/// Gives an operation up.
///
/// What it made is taken back if its plan says so. It takes effect at the end of the step that runs.
#[utoipa::path(
    post, path = "/operations/{id}/cancel", tag = "operations", operation_id = "cancel",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation.")),
    request_body = Option<wire::Control>,
    responses(Answers)
)]
pub(crate) async fn cancel(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    MaybeJson(control): MaybeJson<wire::Control>,
) -> Result<impl IntoResponse, Failure> {
    ask(&app, id, PhaseVerb::Cancel, &principal, control).await
}

/// Holds an operation still until an operator resumes it.
#[utoipa::path(
    post, path = "/operations/{id}/pause", tag = "operations", operation_id = "pause",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation.")),
    request_body = Option<wire::Control>,
    responses(Answers)
)]
pub(crate) async fn pause(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    MaybeJson(control): MaybeJson<wire::Control>,
) -> Result<impl IntoResponse, Failure> {
    ask(&app, id, PhaseVerb::Pause, &principal, control).await
}

/// Lets an operation go on that is paused or stuck, in the direction in which it went.
#[utoipa::path(
    post, path = "/operations/{id}/resume", tag = "operations", operation_id = "resume",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation.")),
    request_body = Option<wire::Control>,
    responses(Answers)
)]
pub(crate) async fn resume(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    MaybeJson(control): MaybeJson<wire::Control>,
) -> Result<impl IntoResponse, Failure> {
    ask(&app, id, PhaseVerb::Resume, &principal, control).await
}

/// Tries again at once, with a whole retry budget.
///
/// A finished operation that did not succeed starts again.
#[utoipa::path(
    post, path = "/operations/{id}/retry", tag = "operations", operation_id = "retry",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation.")),
    request_body = Option<wire::Control>,
    responses(Answers)
)]
pub(crate) async fn retry(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    MaybeJson(control): MaybeJson<wire::Control>,
) -> Result<impl IntoResponse, Failure> {
    ask(&app, id, PhaseVerb::Retry, &principal, control).await
}

async fn ask(
    app: &AppState,
    id: OperationId,
    verb: PhaseVerb,
    principal: &Principal,
    control: Option<wire::Control>,
) -> Result<impl IntoResponse + use<>, Failure> {
    let reason = control.and_then(|control| control.reason).unwrap_or_default();
    if reason.chars().count() > REASON_CHARS_MAX || reason.chars().any(char::is_control) {
        let rule = format!("reason: at most {REASON_CHARS_MAX} characters, and no control characters");
        return Err(Failure::new(Code::InvalidBody, rule).with("field", "reason"));
    }
    // Who may operate all is spared the look.
    if !principal.can(Capability::Operate) {
        inspect(app, principal, Capability::Operate, id).await?;
    }
    let asked = app.engine.ask(id, verb, &principal.name, &reason).await;
    asked.map_err(|error| error::ask(error, id))?;
    let operation = inspect(app, principal, Capability::Operate, id).await?.shown.summary.to_wire();
    Ok((StatusCode::ACCEPTED, about(&id), Json(operation)))
}
