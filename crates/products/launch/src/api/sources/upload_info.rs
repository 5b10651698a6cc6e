//! `GET /sources/{ID}/upload_info`

use crate::model::source_access;
use axum::Json;
use axum::extract::State;

use super::super::principal::TenantPrincipal;
use super::super::query::{Name, QueryParams};
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Whom an image is to be shared with.
///
/// The Image Builder asks this.
#[utoipa::path(
    get, path = "/sources/{ID}/upload_info", tag = "sources", operation_id = "getSourceUploadInfo",
    params(
        ("ID" = String, Path, description = "The id of the source."),
        ("image_id" = Option<String>, Query, description = "An image of the cloud; `region` then says where it is."),
    ),
    responses(
        (status = OK, body = wire::UploadInfo, description = "The account."),
        (status = NOT_IMPLEMENTED, description = "The cloud cannot be reached from here."),
        (status = BAD_GATEWAY, description = "The service that knows the source refused."),
    )
)]
pub(in crate::api) async fn upload_info(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
    asked: QueryParams,
) -> Result<Json<wire::UploadInfo>, Failure> {
    let (launches, image) = (&shared.api_parts.launches, asked.text("image_id")?);
    Ok(Json(source_access::upload_info(launches, &principal.owner, &id, image).await?.into()))
}
