//! The APIs of runtimes: the service broker for platforms, and routes of the platform's API for operators.

pub mod operators;
pub mod osb;
pub mod types;

use std::sync::Arc;

use axum::Router;
use axum::http::Method;
use engine::Capability;
use server::http::rights::{change, look};
use server::rights::{Needs, Right};
use server::{Endpoints, Shared};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::operators::Operators;
use self::osb::OsbSettings;
use crate::model::catalog::Catalog;

/// The endpoints of this product.
pub struct RuntimesApi {
    /// What the service broker offers.
    pub catalog: Arc<Catalog>,
    pub osb: OsbSettings,
}

#[derive(utoipa::OpenApi)]
#[openapi(tags((name = "runtimes", description = "Service instances and their clusters, for operators.")))]
struct RuntimesApiDoc;

static RIGHTS: [Right; 10] = {
    const READ: Needs = Needs::Can(Capability::Read);
    const OPERATE: Needs = Needs::Can(Capability::Operate);
    const ADMINISTER: Needs = Needs::Can(Capability::Administer);
    [
        look("/runtimes", READ),
        look("/runtimes/{id}", READ),
        look("/runtimes/{id}/operations", READ),
        look("/runtimes/{id}/events", READ),
        change(Method::POST, "/runtimes/{id}/force-delete", ADMINISTER, "runtime.force_delete"),
        change(Method::POST, "/runtimes/{id}/repair", OPERATE, "runtime.repair"),
        look("/info/runtimes", READ),
        look("/kubeconfig/{id}", OPERATE),
        change(Method::PUT, "/expire/service_instance/{id}", OPERATE, "runtime.expire"),
        look("/openapi/osb.json", Needs::Nothing),
    ]
};

impl Endpoints for RuntimesApi {
    fn rights(&self) -> &'static [Right] {
        &RIGHTS
    }

    fn routes(&self, app: &Shared) -> Router<Shared> {
        let operators = Operators { app: Shared::clone(app), catalog: Arc::clone(&self.catalog) };
        routes().with_state(Arc::new(operators)).into()
    }

    fn description(&self) -> OpenApi {
        let mut api = RuntimesApiDoc::openapi();
        api.merge(routes().into_openapi());
        api
    }

    fn documents(&self) -> Vec<(&'static str, OpenApi)> {
        vec![("osb", osb::openapi::openapi())]
    }

    fn api(&self, app: &Shared) -> Option<Router> {
        Some(osb::router(app, Arc::clone(&self.catalog), self.osb))
    }
}

fn routes() -> OpenApiRouter<operators::Shared> {
    OpenApiRouter::new()
        .routes(routes!(operators::list::list_runtimes))
        .routes(routes!(operators::get::get_runtime))
        .routes(routes!(operators::operations::list_runtime_operations))
        .routes(routes!(operators::events::list_runtime_events))
        .routes(routes!(operators::force_delete::force_delete_runtime))
        .routes(routes!(operators::repair::repair_runtime))
        .routes(routes!(operators::info::info_runtimes))
        .routes(routes!(operators::kubeconfig::get_kubeconfig))
        .routes(routes!(operators::expire::expire_service_instance))
        .routes(routes!(osb::openapi::osb_json))
}
