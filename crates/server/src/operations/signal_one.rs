//! `POST /operations/{id}/signals/{key}`

use std::sync::Arc;

use axum::extract::{FromRequestParts as _, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::{Capability, Inspection, OperationId};
use serde_json::Value;

use super::inspect;
use crate::app_state::{AppState, Shared};
use crate::audit::about;
use crate::auth::{BearerToken, bearer_token};
use crate::error;
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
/// tokens of operators, this takes the `signal_token` of the operation, which its services get with each call. An
/// operation has at most 100 unread signals with 1 MiB together; one that a step waits for is always taken.
#[utoipa::path(
    post, path = "/operations/{id}/signals/{key}", tag = "operations", operation_id = "signal_operation",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation."),
           ("key" = String, Path, description = "The key that a step waits for.")),
    request_body(content = Option<Value>, description = "What the step gets to read."),
    responses(
        (status = ACCEPTED, body = wire::Signalled, description = "It is durable."),
        (status = NOT_FOUND, description = "There is none: `operation-not-found`."),
        (status = CONFLICT, description = "Too many of this operation are unread: `too-many-signals`."),
    )
)]
pub(crate) async fn signal_operation(
    State(app): State<Shared>,
    principal: Option<Extension<Principal>>,
    of_token: Option<Extension<OwnOperation>>,
    Path((id, key)): Path<(String, String)>,
    AnyJson(payload): AnyJson<PAYLOAD_BYTES_MAX>,
) -> Result<impl IntoResponse, Failure> {
    let id = parsed(&id)?;
    check_text("key", &key)?;
    let Some(declarations) = &app.workflows else { return Err(error::no_such_operation(id)) };
    let inspection = match (principal, of_token) {
        (Some(Extension(principal)), _) => {
            Arc::new(inspect(&app, &principal, Capability::Operate, id).await?)
        }
        (None, Some(Extension(OwnOperation(inspection)))) => inspection,
        (None, None) => {
            return Err(error::unauthenticated("send the header Authorization: Bearer <token>", false));
        }
    };
    let woke = declarations
        .signal(&inspection, &key, payload.unwrap_or(Value::Null))
        .await
        .map_err(error::signal)?;
    Ok((StatusCode::ACCEPTED, about(&id), Json(wire::Signalled { woke })))
}

/// The operation whose own token a request has.
#[derive(Clone)]
pub(crate) struct OwnOperation(Arc<Inspection>);

/// Checks the token before the body is read and before anything is written into the audit log: every client can send
/// a text that looks like one.
pub(crate) async fn prove(app: &AppState, parts: &mut Parts) -> Result<OwnOperation, Failure> {
    // The same answer for a token that is wrong and for an operation that is not there.
    let denied = || error::unauthenticated("this is not the token of this operation", true);
    let path = Path::<(String, String)>::from_request_parts(parts, app).await;
    let Path((id, _)) = path.map_err(|_| denied())?;
    let inspection = app.engine.inspect(parsed(&id)?).await?.ok_or_else(denied)?;
    let declarations = app.workflows.as_ref().ok_or_else(denied)?;
    match bearer_token(&parts.headers) {
        BearerToken::Found(token) if declarations.opens(&inspection, token) => {
            Ok(OwnOperation(Arc::new(inspection)))
        }
        _ => Err(denied()),
    }
}

fn parsed(id: &str) -> Result<OperationId, Failure> {
    id.parse().map_err(|_| not_allowed("id", id, "the id of an operation, which is a UUID"))
}
