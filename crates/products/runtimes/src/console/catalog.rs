//! What the broker offers, as far as pages need it.

use axum::http::StatusCode;
use console::{ApiClient, PageError};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Catalog {
    services: Vec<ServiceView>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ServiceView {
    pub(super) id: String,
    pub(super) plans: Vec<PlanView>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PlanView {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) free: bool,
    #[serde(default)]
    pub(super) bindable: bool,
    #[serde(default)]
    pub(super) plan_updateable: bool,
    #[serde(default)]
    schemas: Value,
}

/// What parameters are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Create,
    Update,
    Bind,
}

impl PlanView {
    /// The schema of the parameters; one without any where the plan says nothing.
    pub(super) fn schema(&self, purpose: Purpose) -> Value {
        let at = match purpose {
            Purpose::Create => "/service_instance/create/parameters",
            Purpose::Update => "/service_instance/update/parameters",
            Purpose::Bind => "/service_binding/create/parameters",
        };
        self.schemas.pointer(at).cloned().unwrap_or_default()
    }
}

impl Catalog {
    pub(super) async fn read(api: &ApiClient) -> Result<Catalog, PageError> {
        api.get("/v2/catalog").await
    }

    /// Every plan with the service that it belongs to.
    pub(super) fn offers(&self) -> impl Iterator<Item = (&ServiceView, &PlanView)> {
        self.services.iter().flat_map(|service| service.plans.iter().map(move |plan| (service, plan)))
    }

    pub(super) fn find(&self, plan: &str) -> Result<(&ServiceView, &PlanView), PageError> {
        let found = self.offers().find(|(_, offered)| offered.id == plan || offered.name == plan);
        found.ok_or_else(|| {
            PageError::new(StatusCode::NOT_FOUND, "Not found", "The catalog has no such plan.")
                .hint("Choose one of those that it has.")
        })
    }
}
