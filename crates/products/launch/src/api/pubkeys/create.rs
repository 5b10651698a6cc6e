//! `POST /pubkeys`

use crate::model::pubkeys;
use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::super::principal::TenantPrincipal;
use super::super::{BASE, LaunchState, wire};
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Keeps a public key.
#[utoipa::path(
    post, path = "/pubkeys", tag = "pubkeys", operation_id = "createPubkey",
    request_body = wire::NewPubkey,
    responses(
        (status = OK, body = wire::Pubkey, description = "The key."),
        (status = CONFLICT, body = wire::Error, description = "Another request does the same: `conflict`."),
        (status = UNPROCESSABLE_ENTITY, body = wire::Error,
         description = "The key is there, or its name is taken: `duplicate_pubkey` or `duplicate_pubkey_name`."),
    )
)]
pub(in crate::api) async fn create_pubkey(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    JsonBody(new): JsonBody<wire::NewPubkey>,
) -> Result<impl IntoResponse, Failure> {
    let key = pubkeys::create(&shared.app.engine, &principal.owner, &new.name, &new.body).await?;
    let path = format!("{BASE}/pubkeys/{}", key.number);
    Ok((about(&path), Json(wire::Pubkey::from(key))))
}
