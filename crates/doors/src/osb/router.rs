//! The routes of the broker, below three prefixes.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, put};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::error;

use super::error::Refusal;
use super::{
    Broker, Desk, bind, binding_last_operation, catalog, deprovision, enter, fetch, fetch_binding,
    last_operation, provision, unbind, update,
};
use crate::hall::Shared;

/// The second and the third are those of the broker whose place this takes.
const PREFIXES: [&str; 3] = ["/v2", "/oauth/v2", "/oauth/{region}/v2"];

/// `None` without a catalog: then there is no broker.
pub(crate) fn router(hall: &Shared) -> Option<Router> {
    let offered = hall.catalog.clone()?;
    let listing = catalog::Listing::new(&offered, &hall.settings.osb);
    let broker = Arc::new(Broker { hall: Shared::clone(hall), catalog: offered, listing });
    let routes = PREFIXES.into_iter().fold(Router::new(), below);
    Some(
        routes
            .method_not_allowed_fallback(|| async { Refusal::method_not_allowed() })
            .layer(CatchPanicLayer::custom(broken))
            .layer(from_fn_with_state(Arc::clone(&broker), enter::enter))
            .layer(CatchPanicLayer::custom(broken))
            .layer(DefaultBodyLimit::max(hall.settings.body_limit_bytes))
            .with_state(broker),
    )
}

/// Adds everything below one prefix. What does not exist there is refused by the broker and by nobody else.
fn below(router: Router<Desk>, prefix: &str) -> Router<Desk> {
    let instance = format!("{prefix}/service_instances/{{instance_id}}");
    let binding = format!("{instance}/service_bindings/{{binding_id}}");
    let nowhere = || any(|| async { Refusal::not_found("there is nothing at this path") });
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

/// What a panic says is for the log alone.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over like this")]
fn broken(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    error!(panic = text, "a handler panicked");
    Refusal::internal().into_response()
}
