//! `GET /pubkeys/{ID}`

use crate::model::pubkeys;
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
    responses((status = OK, body = wire::Pubkey, description = "The key."))
)]
pub(in crate::api) async fn get_pubkey(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    RecordId(id): RecordId,
) -> Result<Json<wire::Pubkey>, Failure> {
    Ok(Json(pubkeys::get(&shared.app.engine, &principal.owner, id).await?.into()))
}
