//! `GET /sources/{ID}/status`

use crate::model::source_access;
use axum::extract::State;
use axum::http::StatusCode;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use server::http::Failure;

/// Whether a source can be used.
///
/// By the cheapest call that the cloud has.
#[utoipa::path(
    get, path = "/sources/{ID}/status", tag = "sources", operation_id = "source_status",
    params(("ID" = String, Path, description = "The id of the source.")),
    responses(
        (status = OK, description = "It does."),
        (status = NOT_IMPLEMENTED, description = "The cloud cannot be reached from here."),
        (status = BAD_GATEWAY, description = "The service that knows the source refused."),
    )
)]
pub(in crate::api) async fn source_status(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<StatusCode, Failure> {
    source_access::status(&shared.api_parts.launches, &principal.owner, &id).await?;
    Ok(StatusCode::OK)
}
