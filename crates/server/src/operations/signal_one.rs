//! `POST /operations/{id}/signals/{key}`

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::{Capability, OperationId};
use serde_json::Value;

use super::inspect;
use crate::app_state::Shared;
use crate::audit::about;
use crate::auth::{BearerToken, bearer_token};
use crate::error;
use crate::guard::forbidden;
use crate::http::Failure;
use crate::http::body::AnyJson;
use crate::principal::Principal;
use crate::query::{check_text, not_allowed};
use crate::wire;

/// A signal is a hint, not a transport.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;

/// Tells one operation something that a step of a declared workflow waits for.
///
/// A signal that comes before the wait is kept for it. The body is any JSON of at most 64 KiB, or nothing. Besides the
/// tokens of operators, this takes the `signal_token` of the operation, which its services get with each call.
#[utoipa::path(
    post, path = "/operations/{id}/signals/{key}", tag = "operations", operation_id = "signal_operation",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation."),
           ("key" = String, Path, description = "The key that a step waits for.")),
    request_body(content = Option<Value>, description = "What the step gets to read."),
    responses(
        (status = ACCEPTED, body = wire::Signalled, description = "It is durable."),
        (status = NOT_FOUND, body = wire::Problem, content_type = "application/problem+json",
         description = "There is none: `operation-not-found`."),
    )
)]
pub(crate) async fn signal_operation(
    State(app): State<Shared>,
    caller: Option<Extension<Principal>>,
    Path((id, key)): Path<(String, String)>,
    headers: HeaderMap,
    AnyJson(payload): AnyJson<PAYLOAD_BYTES_MAX>,
) -> Result<impl IntoResponse, Failure> {
    let wrong = |_| not_allowed("id", &id, "the id of an operation, which is a UUID");
    let id: OperationId = id.parse().map_err(wrong)?;
    check_text("key", &key)?;
    let Some(declarations) = &app.workflows else { return Err(error::no_such_operation(id)) };
    let inspection = match (caller, bearer_token(&headers)) {
        (Some(Extension(caller)), _) => {
            let inspection = inspect(&app, id).await?;
            if !caller.can_with(Capability::Operate, &inspection.shown.summary.workflow) {
                return Err(forbidden(&caller, Capability::Operate));
            }
            inspection
        }
        (None, BearerToken::Found(token)) => {
            // The same answer for a token that is wrong and for an operation that is not there.
            let denied = || error::unauthenticated("this is not the token of this operation", true);
            let inspection = app.engine.inspect(id).await?.ok_or_else(denied)?;
            if !declarations.opens(&inspection, token) {
                return Err(denied());
            }
            inspection
        }
        (None, _) => {
            return Err(error::unauthenticated("send the header Authorization: Bearer <token>", false));
        }
    };
    let woke = declarations
        .signal(&inspection, &key, payload.unwrap_or(Value::Null))
        .await
        .map_err(error::submit)?;
    Ok((StatusCode::ACCEPTED, about(&id), Json(wire::Signalled { woke })))
}
