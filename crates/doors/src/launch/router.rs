//! The routes of this door, below its base path.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::error;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::refused::Refused;
use super::{
    BASE, Counter, Desk, availability, azure_offering, callback, enter, feature, identify, images,
    instance_types, inventory, launches, openapi, permissions, pubkeys, ready, reservations, sources,
};
use crate::hall::Shared;

/// `None` where nobody offers launches.
pub(crate) fn router(hall: &Shared) -> Option<Router> {
    let door = hall.launch.clone()?;
    let limit = door.body_limit_bytes;
    let desk = Arc::new(Counter {
        hall: Shared::clone(hall),
        door,
        granted: permissions::Granted::default(),
        peers: identify::Peers::default(),
    });
    let (routes, _) = routes().split_for_parts();
    let routes = routes
        .fallback(|| async { Refused::no_such_path() })
        .layer(DefaultBodyLimit::max(limit))
        .layer(CatchPanicLayer::custom(broken))
        .layer(from_fn_with_state(Arc::clone(&desk), enter::enter))
        .with_state(desk);
    Some(Router::new().nest(BASE, routes))
}

pub(super) fn routes() -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(routes!(openapi::openapi_json))
        .routes(routes!(azure_offering::offering_template, azure_offering::offering_template_options))
        .routes(routes!(sources::list::list_sources, sources::create::create_source))
        .routes(routes!(sources::get::get_source, sources::delete::delete_source))
        .routes(routes!(sources::status::source_status))
        .routes(routes!(sources::launch_templates::launch_templates))
        .routes(routes!(sources::upload_info::upload_info))
        .routes(routes!(sources::validate_permissions::validate_permissions))
        .routes(routes!(availability::check_source))
        .routes(routes!(pubkeys::list::list_pubkeys, pubkeys::create::create_pubkey))
        .routes(routes!(pubkeys::get::get_pubkey, pubkeys::delete::delete_pubkey))
        .routes(routes!(instance_types::instance_types))
        .routes(routes!(instance_types::refresh_instance_types))
        .routes(routes!(reservations::list::list_reservations))
        .routes(routes!(reservations::create::create_reservation, reservations::get::get_reservation))
        .routes(routes!(reservations::typed::get_provider_reservation))
        .routes(routes!(launches::list::list_launches, launches::create::create_launch))
        .routes(routes!(launches::get::get_launch))
        .routes(routes!(launches::events::stream_launch))
        .routes(routes!(launches::parameters::give_parameters))
        .routes(routes!(launches::cancel::cancel_launch))
        .routes(routes!(launches::retry::retry_launch))
        .routes(routes!(launches::retry::clean_up_launch))
        .routes(routes!(launches::detach::detach_launch))
        .routes(routes!(launches::terminate::terminate_launch))
        .routes(routes!(callback::launch_image_ready))
        .routes(routes!(callback::image_ready))
        .routes(routes!(inventory::list::list_inventory))
        .routes(routes!(inventory::get::get_instance, inventory::terminate::terminate_instance))
        .routes(routes!(images::list_images))
        .routes(routes!(ready::ready))
        .routes(routes!(ready::ready_service))
        .routes(routes!(feature::feature))
}

/// What a panic says is for the log alone.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over like this")]
fn broken(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    error!(panic = text, "a handler panicked");
    Refused::internal().into_response()
}
