//! `POST /pubkeys`

use crate::model::public_keys;
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
    request_body = wire::NewPublicKey,
    responses(
        (status = OK, body = wire::PublicKeyResponse, description = "The key."),
        (status = CONFLICT, description = "Another request does the same: `conflict`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "The key is there, or its name is taken: `duplicate_pubkey` or `duplicate_pubkey_name`."),
    )
)]
pub(in crate::api) async fn create_public_key(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    JsonBody(new): JsonBody<wire::NewPublicKey>,
) -> Result<impl IntoResponse, Failure> {
    let key = public_keys::create(&shared.app.engine, &principal.owner, &new.name, &new.body).await?;
    let path = format!("{BASE}/pubkeys/{}", key.number);
    Ok((about(&path), Json(wire::PublicKeyResponse::from(key))))
}
