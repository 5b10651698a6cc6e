//! `GET /sources/{ID}/launch_templates`

use crate::model::cloud::Page;
use crate::model::source_access;
use axum::Json;
use axum::extract::State;

use super::super::paging::Paging;
use super::super::principal::TenantPrincipal;
use super::super::query::{Name, QueryParams};
use super::super::{LaunchState, wire};
use server::http::Failure;

/// What clouds give at most.
const LIMIT_MAX: u32 = 200;

/// Lists the launch templates of an account.
///
/// The next page is found by a token and not by an offset.
#[utoipa::path(
    get, path = "/sources/{ID}/launch_templates", tag = "sources", operation_id = "getLaunchTemplatesList",
    params(
        ("ID" = String, Path, description = "The id of the source."),
        ("region" = Option<String>, Query, description = "AWS needs it."),
        ("token" = Option<String>, Query, description = "From the link to the next page."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200, description = "100 without it."),
    ),
    responses(
        (status = OK, body = wire::TemplateList, description = "A page of templates."),
        (status = NOT_IMPLEMENTED, description = "The cloud cannot be reached from here."),
        (status = BAD_GATEWAY, description = "The service that knows the source refused."),
    )
)]
pub(in crate::api) async fn launch_templates(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
    asked: QueryParams,
    paging: Paging,
) -> Result<Json<wire::TemplateList>, Failure> {
    let paging = paging.at_most(LIMIT_MAX);
    let page = Page { limit: paging.limit, token: asked.text("token")?.map(str::to_owned) };
    let region = asked.text("region")?;
    let found =
        source_access::templates(&shared.api_parts.launches, &principal.owner, &id, region, &page).await?;
    let next = found.next.map(|token| paging.next_by_token(&token)).unwrap_or_default();
    let data = found.items.into_iter().map(|one| wire::Template { id: one.id, name: one.name }).collect();
    let links = wire::TokenLinks { previous: String::new(), next };
    Ok(Json(wire::TemplateList { data, metadata: wire::TokenMetadata { links } }))
}
