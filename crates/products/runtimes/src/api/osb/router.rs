//! The routes of the broker, below three prefixes.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{any, get, put};

use super::{
    BrokerShared, BrokerState, OsbSettings, bind, binding_last_operation, catalog, deprovision, fetch,
    fetch_binding, guard, last_operation, provision, unbind, update,
};
use server::Shared;

use crate::model::catalog::Catalog;
use server::http;

/// The second and the third are those of the broker whose place this takes.
const PREFIXES: [&str; 3] = ["/v2", "/oauth/v2", "/oauth/{region}/v2"];

pub(crate) fn router(app: &Shared, offered: Arc<Catalog>, settings: OsbSettings) -> Router {
    let listings = catalog::CatalogListings::new(&offered);
    let app = Shared::clone(app);
    let broker = Arc::new(BrokerShared { app, settings, catalog: offered, listings });
    let routes = PREFIXES.into_iter().fold(Router::new(), below);
    let routes = routes.method_not_allowed_fallback(http::method_not_allowed);
    http::serve(routes, broker).layer(from_fn(guard::identified))
}

/// Adds everything below one prefix. What does not exist there is refused by the broker and by no other client.
fn below(router: Router<BrokerState>, prefix: &str) -> Router<BrokerState> {
    let instance = format!("{prefix}/service_instances/{{instance_id}}");
    let binding = format!("{instance}/service_bindings/{{binding_id}}");
    let nowhere = || any(http::no_such_path);
    let on_instance =
        put(provision::provision).get(fetch::fetch).patch(update::update).delete(deprovision::deprovision);
    let on_binding = put(bind::bind).get(fetch_binding::fetch_binding).delete(unbind::unbind);
    router
        .route(&format!("{prefix}/catalog"), get(catalog::show_catalog))
        .route(&format!("{instance}/last_operation"), get(last_operation::last_operation))
        .route(&instance, on_instance)
        .route(&format!("{binding}/last_operation"), get(binding_last_operation::binding_last_operation))
        .route(&binding, on_binding)
        .route(prefix, nowhere())
        .route(&format!("{prefix}/"), nowhere())
        .route(&format!("{prefix}/{{*rest}}"), nowhere())
}
