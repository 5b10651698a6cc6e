//! `GET /pubkeys/{ID}`

use crate::model::public_keys;
use axum::Json;
use axum::extract::State;

use super::super::principal::TenantPrincipal;
use super::super::query::RecordId;
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Shows a public key.
#[utoipa::path(
    get, path = "/pubkeys/{ID}", tag = "pubkeys", operation_id = "getPubkeyById",
    params(("ID" = i64, Path, description = "The id of the key.")),
    responses((status = OK, body = wire::PublicKeyResponse, description = "The key."))
)]
pub(in crate::api) async fn get_public_key(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    RecordId(id): RecordId,
) -> Result<Json<wire::PublicKeyResponse>, Failure> {
    Ok(Json(public_keys::get(&shared.app.engine, &principal.owner, id).await?.into()))
}
