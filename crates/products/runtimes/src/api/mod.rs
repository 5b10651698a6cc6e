//! The APIs of runtimes: the service broker for platforms, and routes of the platform's API for operators.

pub mod operators;
pub mod orchestrations;
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
use crate::backend::Backends;
use crate::model::catalog::Catalog;
use crate::model::settings::RuntimesSettings;

/// The endpoints of this product.
pub struct RuntimesApi {
    /// What the service broker offers.
    pub catalog: Arc<Catalog>,
    pub osb: OsbSettings,
    /// Versions and maintenance windows of upgrades.
    pub runtimes: Arc<RuntimesSettings>,
    /// What has kubeconfigs that are not kept. Without it there are none.
    pub backends: Option<Backends>,
}

#[derive(utoipa::OpenApi)]
#[openapi(
    tags(
        (name = "runtimes", description = "Service instances and their clusters, for operators."),
        (name = "upgrades", description = "Upgrades of many runtimes under control."),
    ),
    components(schemas(orchestrations::wire::StartedOrchestration, orchestrations::wire::UpgradePreview)),
)]
struct RuntimesApiDoc;

static RIGHTS: [Right; 22] = {
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
        look("/events", READ),
        look("/version", READ),
        look("/info/runtimes", READ),
        look("/kubeconfig/{id}", OPERATE),
        change(Method::PUT, "/expire/service_instance/{id}", OPERATE, "runtime.expire"),
        change(Method::POST, "/upgrade/cluster", OPERATE, "upgrade.start"),
        change(Method::POST, "/upgrade/kyma", OPERATE, "upgrade.start"),
        look("/orchestrations", READ),
        look("/orchestrations/{id}", READ),
        look("/orchestrations/{id}/operations", READ),
        look("/orchestrations/{id}/operations/{operation}", READ),
        change(Method::PUT, "/orchestrations/{id}/cancel", OPERATE, "upgrade.cancel"),
        change(Method::PUT, "/orchestrations/{id}/pause", OPERATE, "upgrade.pause"),
        change(Method::PUT, "/orchestrations/{id}/resume", OPERATE, "upgrade.resume"),
        change(Method::POST, "/orchestrations/{id}/retry", OPERATE, "upgrade.retry"),
        look("/openapi/osb.json", Needs::Nothing),
    ]
};

impl Endpoints for RuntimesApi {
    fn rights(&self) -> &'static [Right] {
        &RIGHTS
    }

    fn routes(&self, app: &Shared) -> Router<Shared> {
        let operators = Operators {
            app: Shared::clone(app),
            catalog: Arc::clone(&self.catalog),
            runtimes: Arc::clone(&self.runtimes),
            backends: self.backends.clone(),
            compat_keb: self.osb.compat_keb,
        };
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
        .routes(routes!(operators::all_events::list_events))
        .routes(routes!(operators::version::get_version))
        .routes(routes!(operators::info::info_runtimes))
        .routes(routes!(operators::kubeconfig::get_kubeconfig))
        .routes(routes!(operators::expire::expire_service_instance))
        .routes(routes!(orchestrations::start::upgrade_cluster))
        .routes(routes!(orchestrations::start::upgrade_kyma))
        .routes(routes!(orchestrations::list::list_orchestrations))
        .routes(routes!(orchestrations::get::get_orchestration))
        .routes(routes!(orchestrations::operations::list_upgrade_operations))
        .routes(routes!(orchestrations::operations::get_upgrade_operation))
        .routes(routes!(orchestrations::control::cancel_orchestration))
        .routes(routes!(orchestrations::control::pause_orchestration))
        .routes(routes!(orchestrations::control::resume_orchestration))
        .routes(routes!(orchestrations::retry::retry_orchestration))
        .routes(routes!(osb::openapi::osb_json))
}
