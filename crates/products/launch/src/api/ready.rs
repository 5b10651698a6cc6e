//! `GET /ready`, and the same for a single service that launches need.

use std::time::Duration;

use crate::model::identity;
use crate::model::image_builder::ImageBuilder;
use crate::model::params::LaunchOwner;
use crate::model::rbac::Rbac;
use crate::model::sources_api::SourcesApi;
use async_trait::async_trait;
use axum::extract::State;
use axum::http::StatusCode;
use engine::secret::ExposeSecret;
use tokio::time::timeout;
use tracing::warn;

use super::LaunchState;
use super::error;
use super::principal::TenantPrincipal;
use super::query::Name;
use server::http::Failure;

/// What has not answered within this time does not answer.
const LIMIT: Duration = Duration::from_secs(2);

/// What launches need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadyService {
    Rbac,
    Sources,
    ImageBuilder,
}

impl ReadyService {
    fn named(text: &str) -> Option<ReadyService> {
        match text {
            "rbac" => Some(ReadyService::Rbac),
            "sources" => Some(ReadyService::Sources),
            "ib" | "image_builder" | "imagebuilder" => Some(ReadyService::ImageBuilder),
            _ => None,
        }
    }
}

/// A user who can be asked whether they are there.
#[async_trait]
pub trait Probe: Send + Sync + 'static {
    /// The error is for the log.
    async fn ready(&self, who: &LaunchOwner) -> Result<(), String>;
}

#[async_trait]
impl Probe for Rbac {
    async fn ready(&self, who: &LaunchOwner) -> Result<(), String> {
        let header = identity::header(&who.organisation());
        Rbac::ready(self, header.expose_secret()).await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Probe for SourcesApi {
    async fn ready(&self, who: &LaunchOwner) -> Result<(), String> {
        SourcesApi::ready(self, &who.organisation()).await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Probe for ImageBuilder {
    async fn ready(&self, who: &LaunchOwner) -> Result<(), String> {
        ImageBuilder::ready(self, &(&who.organisation()).into()).await.map_err(|error| error.to_string())
    }
}

/// Whether launches can be asked for.
#[utoipa::path(
    get, path = "/ready", tag = "service", operation_id = "ready",
    responses((status = OK, description = "They can."))
)]
pub(crate) async fn ready(State(shared): State<LaunchState>) -> Result<StatusCode, Failure> {
    let limit = LIMIT.min(shared.app.settings.request_timeout / 2);
    match timeout(limit, shared.app.engine.is_ready()).await {
        Ok(Ok(())) => Ok(StatusCode::OK),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(error::unavailable("the database is not answering")),
    }
}

/// Whether a service answers that launches need.
#[utoipa::path(
    get, path = "/ready/{SRV}", tag = "service", operation_id = "ready_service",
    params(("SRV" = String, Path, description = "`rbac`, `sources` or `image_builder`.")),
    responses((status = OK, description = "It does."))
)]
pub(crate) async fn ready_service(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<StatusCode, Failure> {
    let rule = "it must be rbac, sources or image_builder";
    let service = ReadyService::named(&name).ok_or_else(|| error::invalid("service", rule))?;
    let Some(probe) = shared.api_parts.probes.get(&service) else {
        return Err(error::unavailable(format!("no {name} is configured")));
    };
    let limit = LIMIT.min(shared.app.settings.request_timeout / 2);
    let asked = timeout(limit, probe.ready(&principal.owner)).await;
    asked.unwrap_or_else(|_| Err("it took too long".into())).map_err(|error| {
        warn!(error, service = name, "external system not ready");
        error::unavailable(format!("{name} is not answering"))
    })?;
    Ok(StatusCode::OK)
}
