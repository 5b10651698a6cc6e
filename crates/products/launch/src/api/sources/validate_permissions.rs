//! `GET /sources/{ID}/validate_permissions`

use crate::model::source_access;
use axum::Json;
use axum::extract::State;

use super::super::principal::TenantPrincipal;
use super::super::query::{Name, QueryParams};
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Whether a source has all permissions that a launch needs.
///
/// At AWS everything is tried that leaves nothing behind; what policies say is not read. Azure and Google say which
/// permissions they give.
#[utoipa::path(
    get, path = "/sources/{ID}/validate_permissions", tag = "sources", operation_id = "validate_permissions",
    params(
        ("ID" = String, Path, description = "The id of the source."),
        ("region" = Option<String>, Query, description = "Where to try; where images are made without it."),
    ),
    responses(
        (status = OK, body = wire::Validity, description = "What is missing."),
        (status = NOT_IMPLEMENTED, description = "The cloud cannot be reached from here."),
        (status = BAD_GATEWAY, description = "The service that knows the source refused."),
    )
)]
pub(in crate::api) async fn validate_permissions(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
    asked: QueryParams,
) -> Result<Json<wire::Validity>, Failure> {
    let region = asked.text("region")?;
    let found = source_access::permissions(&shared.api_parts.launches, &principal.owner, &id, region).await?;
    Ok(Json(wire::Validity {
        valid: found.is_valid(),
        missing_entities: found.missing,
        unproven_entities: found.unproven,
    }))
}
