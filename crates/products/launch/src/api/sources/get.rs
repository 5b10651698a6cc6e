//! `GET /sources/{ID}`

use crate::model::sources;
use axum::Json;
use axum::extract::State;

use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Shows a source.
#[utoipa::path(
    get, path = "/sources/{ID}", tag = "sources", operation_id = "get_source",
    params(("ID" = String, Path, description = "The id of the source.")),
    responses((status = OK, body = wire::Source, description = "The source."))
)]
pub(in crate::api) async fn get_source(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<Json<wire::Source>, Failure> {
    let source = sources::get(&shared.api_parts.launches, &principal.owner, &id).await?;
    Ok(Json(source.into()))
}
