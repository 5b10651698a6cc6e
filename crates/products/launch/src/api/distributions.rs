//! `GET /distributions` and `GET /distributions/{name}/architectures`: what the caller may build.

use crate::model::{distributions, image_builder};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::LaunchState;
use super::principal::TenantPrincipal;
use super::query::Name;
use server::http::Failure;

/// What the caller may build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DistributionList {
    pub data: Vec<Distribution>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Distribution {
    /// As a request for an image writes it.
    #[schema(example = "rhel-9.6")]
    pub name: String,
    pub description: String,
}

/// The architectures of a distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArchitectureList {
    pub data: Vec<DistributionArchitecture>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DistributionArchitecture {
    /// `x86_64` or `aarch64`.
    pub arch: String,
    pub image_types: Vec<String>,
}

impl From<image_builder::Distribution> for Distribution {
    fn from(one: image_builder::Distribution) -> Distribution {
        Distribution { name: one.name, description: one.description }
    }
}

impl From<image_builder::DistributionArchitecture> for DistributionArchitecture {
    fn from(one: image_builder::DistributionArchitecture) -> DistributionArchitecture {
        DistributionArchitecture { arch: one.arch, image_types: one.image_types }
    }
}

/// Lists the distributions that the caller may build.
///
/// The Image Builder says so, by the caller's own identity or by the one that is configured for its organisation.
#[utoipa::path(
    get, path = "/distributions", tag = "images", operation_id = "list_distributions",
    responses((status = OK, body = DistributionList, description = "The distributions, RHEL and newer ones first."))
)]
pub(in crate::api) async fn list_distributions(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
) -> Result<Json<DistributionList>, Failure> {
    let (launches, who) = (&shared.api_parts.launches, &principal.owner);
    let all = distributions::list(launches, who, principal.identity.as_ref()).await?;
    Ok(Json(DistributionList { data: all.into_iter().map(Distribution::from).collect() }))
}

/// Lists the architectures of a distribution, and the image types of each.
#[utoipa::path(
    get, path = "/distributions/{name}/architectures", tag = "images", operation_id = "list_architectures",
    params(("name" = String, Path, description = "The distribution.", example = "rhel-9.6")),
    responses((status = OK, body = ArchitectureList, description = "The architectures."))
)]
pub(in crate::api) async fn list_architectures(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<Json<ArchitectureList>, Failure> {
    let (launches, who) = (&shared.api_parts.launches, &principal.owner);
    let all = distributions::architectures(launches, who, principal.identity.as_ref(), &name).await?;
    Ok(Json(ArchitectureList { data: all.into_iter().map(DistributionArchitecture::from).collect() }))
}
