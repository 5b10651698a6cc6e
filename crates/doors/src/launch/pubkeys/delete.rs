//! `DELETE /pubkeys/{id}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use workflows::launch::pubkeys;

use super::super::principal::TenantPrincipal;
use super::super::query::Number;
use super::super::refused::Refused;
use super::super::{Desk, wire};

/// Forgets a public key.
///
/// What launches have uploaded to accounts is deleted there first. What cannot be reached stays there, and the
/// answer says so.
#[utoipa::path(
    delete, path = "/pubkeys/{id}", tag = "pubkeys", operation_id = "delete_pubkey",
    params(("id" = i64, Path, description = "The id of the key.")),
    responses(
        (status = NO_CONTENT, description = "It is forgotten."),
        (status = OK, body = wire::Warnings, description = "It is forgotten, and something is left in a cloud."),
        (status = CONFLICT, body = wire::Error, description = "Somebody else changes it: `conflict`."),
    )
)]
pub(in crate::launch) async fn delete_pubkey(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
) -> Result<Response, Refused> {
    let launches = &desk.door.launches;
    let deleted = pubkeys::delete(launches, &desk.hall.engine, &principal.requester, id).await?;
    if deleted.warnings.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Json(wire::Warnings { warnings: deleted.warnings }).into_response())
}
