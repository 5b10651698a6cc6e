//! `DELETE /pubkeys/{ID}`

use std::time::Duration;

use crate::model::public_keys;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::OperationId;
use tokio::time::{Instant, timeout_at};

use super::super::principal::TenantPrincipal;
use super::super::query::RecordId;
use super::super::{LaunchShared, LaunchState, wire};
use server::http::{Failure, OperationEvents};

/// How long a client waits for the clouds at most. The operation goes on without it.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// A request that waits is answered this long before its time is over.
const MARGIN: Duration = Duration::from_secs(2);

/// Forgets a public key.
///
/// The key is gone at once. An operation deletes the key pairs that launches have uploaded to accounts, and the answer
/// waits for it for a while. What stays in a cloud is in the answer.
#[utoipa::path(
    delete, path = "/pubkeys/{ID}", tag = "pubkeys", operation_id = "removePubkeyById",
    params(("ID" = i64, Path, description = "The id of the key.")),
    responses(
        (status = NO_CONTENT, description = "It is deleted."),
        (status = OK, body = wire::Warnings, description = "It is deleted, and something is left in a cloud."),
        (status = ACCEPTED, body = wire::Warnings,
         description = "It is deleted, and an operation is still deleting its key pairs."),
        (status = CONFLICT, description = "Another request changes it: `conflict`."),
    )
)]
pub(in crate::api) async fn delete_public_key(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    RecordId(id): RecordId,
) -> Result<Response, Failure> {
    let operation = public_keys::delete(&shared.app.engine, &principal.owner, id).await?;
    let (is_over, mut warnings) = ended(&shared, operation).await?;
    if is_over && warnings.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let status = if is_over { StatusCode::OK } else { StatusCode::ACCEPTED };
    if !is_over {
        warnings.push(format!("operation {operation} is still deleting its key pairs"));
    }
    Ok((status, Json(wire::Warnings { warnings })).into_response())
}

/// Whether the operation is over by the time that the client has to be answered, and what it warns of.
async fn ended(shared: &LaunchShared, operation: OperationId) -> Result<(bool, Vec<String>), Failure> {
    let patience = WAIT_MAX.min(shared.app.settings.request_timeout.saturating_sub(MARGIN));
    let until = Instant::now() + patience;
    loop {
        let mut updates = OperationEvents::of(&shared.app, Some(operation));
        let Some(found) = shared.app.engine.inspect(operation).await? else { return Ok((true, Vec::new())) };
        let is_over = found.shown.summary.phase.is_final();
        if is_over || Instant::now() >= until {
            let warnings = found.memory.state.get("warnings").cloned().unwrap_or_default();
            return Ok((is_over, serde_json::from_value(warnings).unwrap_or_default()));
        }
        if let Ok(None) = timeout_at(until, updates.next_while_open()).await {
            return Ok((false, Vec::new()));
        }
    }
}
