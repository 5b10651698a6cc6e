//! `GET /instance_types/{PROVIDER}` and `POST /instance_types/{PROVIDER}/refresh`

use std::time::Duration;

use crate::model::catalog::{Search, TypeEntry, overlaid};
use crate::model::source_access;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::error;
use super::etag::TaggedDocument;
use super::principal::TenantPrincipal;
use super::query::{Name, QueryParams};
use super::sources::provider_named;
use super::{LaunchState, wire};
use server::http::Failure;

const MAX_AGE: Duration = Duration::from_hours(4);

/// Lists the instance types of a region.
///
/// Larger ones than our images need are supported; others may be launched nevertheless.
#[utoipa::path(
    get, path = "/instance_types/{PROVIDER}", tag = "catalogue", operation_id = "getInstanceTypeListAll",
    params(
        ("PROVIDER" = String, Path, description = "`aws`, `azure` or `gcp`."),
        ("region" = String, Query, description = "A region, a location of Azure, or a zone of GCP."),
        ("zone" = Option<String>, Query, description = "Only those of this zone."),
        ("supported" = Option<bool>, Query, description = "Only those on which our images are known to run, or the others."),
        ("search" = Option<String>, Query, description = "A part of the name, or an expression.",
         example = "vcpus = 2 and memory < 4000"),
    ),
    responses(
        (status = OK, body = wire::InstanceTypes, description = "The types."),
        (status = NOT_MODIFIED, description = "The caller has them."),
    )
)]
pub(crate) async fn instance_types(
    State(shared): State<LaunchState>,
    Name(provider): Name,
    asked: QueryParams,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let provider = provider_named(&provider)?;
    let region = asked.text("region")?.ok_or_else(|| error::invalid("region", "it is missing"))?;
    let zone = asked.text("zone")?;
    let supported = asked.switch("supported")?;
    let search = asked.text("search")?.map(Search::parse).transpose();
    let search = search.map_err(|error| error::invalid("search", error))?;
    let listing = overlaid(&shared.app.engine, provider, region, zone).await?;
    let listing = listing.ok_or_else(|| match zone {
        None => error::invalid("region", format!("{provider} has no such region that is known here")),
        Some(_) => {
            error::invalid("zone", format!("{provider} has no such zone in a region that is known here"))
        }
    })?;
    let is_wanted = |entry: &&TypeEntry| {
        supported.is_none_or(|supported| entry.is_supported() == supported)
            && search.as_ref().is_none_or(|search| search.fits(entry))
    };
    let entries = listing.entries.iter().map(AsRef::as_ref).filter(is_wanted);
    let types = wire::InstanceTypes { data: entries.map(wire::InstanceType::from).collect() };
    Ok(TaggedDocument::new("instance-types", &types)?.answer(&headers, MAX_AGE))
}

/// Takes over the instance types that an account can have in a region, for all organisations.
#[utoipa::path(
    post, path = "/instance_types/{PROVIDER}/refresh", tag = "catalogue", operation_id = "refresh_instance_types",
    params(
        ("PROVIDER" = String, Path, description = "`aws`, `azure` or `gcp`."),
        ("source_id" = String, Query, description = "The account that is asked."),
        ("region" = String, Query, description = "The region."),
    ),
    responses((status = OK, body = wire::Refreshed, description = "How many types there are now."))
)]
pub(crate) async fn refresh_instance_types(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(provider): Name,
    asked: QueryParams,
) -> Result<Json<wire::Refreshed>, Failure> {
    let provider = provider_named(&provider)?;
    let missing = |name: &str| error::invalid(name, "it is missing");
    let source = asked.text("source_id")?.ok_or_else(|| missing("source_id"))?;
    let region = asked.text("region")?.ok_or_else(|| missing("region"))?;
    let (launches, engine) = (&shared.api_parts.launches, &shared.app.engine);
    let types =
        source_access::refresh_types(launches, engine, &principal.owner, provider, source, region).await?;
    Ok(Json(wire::Refreshed { types }))
}
