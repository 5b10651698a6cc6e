//! `DELETE /sources/{ID}`

use crate::model::sources;
use axum::extract::State;
use axum::http::StatusCode;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use server::http::Failure;

/// Forgets a source.
///
/// Only where sources are kept here. Launches that need it still will fail and say so.
#[utoipa::path(
    delete, path = "/sources/{ID}", tag = "sources", operation_id = "delete_source",
    params(("ID" = String, Path, description = "The id of the source.")),
    responses(
        (status = NO_CONTENT, description = "It is deleted."),
        (status = CONFLICT, description = "It is always there: `conflict`."),
        (status = NOT_IMPLEMENTED, description = "Another service keeps them: `sources_elsewhere`."),
    )
)]
pub(in crate::api) async fn delete_source(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<StatusCode, Failure> {
    sources::delete(&shared.api_parts.launches, &shared.app.engine, &principal.owner, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
