//! What the broker offers, as far as pages need it.

use axum::http::StatusCode;
use console::{Api, Trouble};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Catalog {
    services: Vec<Service>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Service {
    pub(super) id: String,
    pub(super) plans: Vec<Plan>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Plan {
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

impl Plan {
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
    pub(super) async fn read(api: &Api) -> Result<Catalog, Trouble> {
        api.get("/v2/catalog").await
    }

    /// Every plan with the service that it belongs to.
    pub(super) fn offers(&self) -> impl Iterator<Item = (&Service, &Plan)> {
        self.services.iter().flat_map(|service| service.plans.iter().map(move |plan| (service, plan)))
    }

    pub(super) fn find(&self, plan: &str) -> Result<(&Service, &Plan), Trouble> {
        let found = self.offers().find(|(_, offered)| offered.id == plan || offered.name == plan);
        found.ok_or_else(|| {
            Trouble::new(StatusCode::NOT_FOUND, "Not found", "The catalog has no such plan.")
                .hint("Choose one of those that it has.")
        })
    }
}
