//! `GET /sources/{ID}/upload_info`

use crate::model::sources;
use axum::Json;
use axum::extract::State;

use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Whom an image is to be shared with.
///
/// The Image Builder asks this.
#[utoipa::path(
    get, path = "/sources/{ID}/upload_info", tag = "sources", operation_id = "getSourceUploadInfo",
    params(("ID" = String, Path, description = "The id of the source.")),
    responses(
        (status = OK, body = wire::UploadInfo, description = "The account."),
        (status = NOT_IMPLEMENTED, body = wire::Error, description = "The cloud cannot be reached from here."),
        (status = BAD_GATEWAY, body = wire::Error, description = "The service that knows the source refused."),
    )
)]
pub(in crate::api) async fn upload_info(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<Json<wire::UploadInfo>, Failure> {
    Ok(Json(sources::upload_info(&shared.api_parts.launches, &principal.owner, &id).await?.into()))
}
