//! `POST /signals/{key}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::app_state::Shared;
use crate::audit::about;
use crate::error;
use crate::http::Failure;
use crate::http::body::AnyJson;
use crate::query::Name;
use crate::wire;

/// A signal is a hint, not a transport.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;

/// Wakes the operations that wait for this key.
///
/// A signal that comes before the wait is kept for it. The body is any JSON of at most 64 KiB, or nothing.
#[utoipa::path(
    post, path = "/signals/{key}", tag = "operations", operation_id = "signal",
    params(("key" = String, Path, description = "The key that an operation waits for.")),
    request_body(content = Option<Value>, description = "What the step gets to read."),
    responses(
        (status = ACCEPTED, body = wire::Signalled, description = "It is durable."),
        (status = UNPROCESSABLE_ENTITY, description = "The key cannot be one: `invalid-command`."),
    )
)]
pub(crate) async fn signal(
    State(app): State<Shared>,
    Name(key): Name,
    AnyJson(payload): AnyJson<PAYLOAD_BYTES_MAX>,
) -> Result<impl IntoResponse, Failure> {
    let woke = app.engine.signal(&key, payload.unwrap_or(Value::Null)).await.map_err(error::submit)?;
    Ok((StatusCode::ACCEPTED, about(&key), Json(wire::Signalled { woke })))
}
