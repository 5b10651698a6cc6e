//! `POST /availability_status/sources`

use crate::model::sources;
use crate::workflows::source_check;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::error;
use super::principal::TenantPrincipal;
use super::{BASE, LaunchState, wire};
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Asks for a look whether a source can be used.
///
/// The answer comes before the look. Who asks while one is under way has asked for that one.
#[utoipa::path(
    post, path = "/availability_status/sources", tag = "sources", operation_id = "availabilityStatus",
    request_body = wire::Availability,
    responses(
        (status = OK, description = "It will be looked at."),
        (status = NOT_FOUND, description = "There is no such source: `not_found`."),
        (status = CONFLICT, description = "Another request does the same: `conflict`."),
        (status = BAD_GATEWAY, description = "The service that knows the source refused."),
    )
)]
pub(crate) async fn check_source(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    JsonBody(asked): JsonBody<wire::Availability>,
) -> Result<impl IntoResponse, Failure> {
    if asked.source_id.is_empty() {
        return Err(error::invalid("source_id", "it is missing"));
    }
    // Rows about what does not exist are not written.
    let source = sources::get(&shared.api_parts.launches, &principal.owner, &asked.source_id).await?;
    source_check::ask(&shared.app.engine, &principal.owner, &source.id, Some(&source.name)).await?;
    Ok((StatusCode::OK, about(&format!("{BASE}/sources/{}", source.id))))
}
