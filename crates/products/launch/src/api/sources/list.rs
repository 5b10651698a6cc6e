//! `GET /sources`

use crate::model::sources;
use axum::Json;
use axum::extract::State;

use super::super::paging::Paging;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::super::{LaunchState, wire};
use server::http::Failure;

/// Lists the accounts in clouds that launches of the organisation may use.
#[utoipa::path(
    get, path = "/sources", tag = "sources", operation_id = "getSourceList",
    params(
        ("provider" = Option<String>, Query, description = "Only those of `aws`, `azure` or `gcp`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
        ("offset" = Option<u32>, Query, minimum = 0, maximum = 1_000_000_000,
            description = "How many to leave out at the beginning."),
    ),
    responses((status = OK, body = wire::SourceList, description = "A page of sources."))
)]
pub(in crate::api) async fn list_sources(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    asked: QueryParams,
    paging: Paging,
) -> Result<Json<wire::SourceList>, Failure> {
    let provider = asked.text("provider")?.map(super::provider_named).transpose()?;
    let all = sources::list(&shared.api_parts.launches, &principal.owner, provider).await?;
    let metadata = paging.metadata(u64::try_from(all.len()).unwrap_or(u64::MAX));
    let data = paging.cut(all).map(wire::Source::from).collect();
    Ok(Json(wire::SourceList { data, metadata }))
}
