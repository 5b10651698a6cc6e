//! The routes of this API, below its base path.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use super::{
    BASE, LaunchApiParts, LaunchShared, LaunchState, availability, azure_offering, callback, distributions,
    feature, guard, identify, images, instance_types, inventory, launches, openapi, pages, permissions,
    public_keys, ready, reservations, sources,
};
use server::Shared;
use server::http;

pub(crate) fn router(app: &Shared, api_parts: LaunchApiParts) -> Router {
    let shared = Arc::new(LaunchShared {
        app: Shared::clone(app),
        api_parts,
        granted: permissions::PermissionCache::default(),
        peers: identify::Peers::default(),
    });
    let (routes, _) = routes().split_for_parts();
    let routes = http::serve(routes.fallback(http::no_such_path), Arc::clone(&shared))
        .layer(from_fn_with_state(Arc::clone(&shared), guard::labelled));
    Router::new().nest(BASE, routes).merge(pages::routes(&shared))
}

pub(crate) fn routes() -> OpenApiRouter<LaunchState> {
    let all = [
        routes!(openapi::openapi_json),
        routes!(azure_offering::offering_template, azure_offering::offering_template_options),
        routes!(sources::list::list_sources, sources::create::create_source),
        routes!(sources::get::get_source, sources::delete::delete_source),
        routes!(sources::status::source_status),
        routes!(sources::launch_templates::launch_templates),
        routes!(sources::upload_info::upload_info),
        routes!(sources::validate_permissions::validate_permissions),
        routes!(availability::check_source),
        routes!(public_keys::list::list_public_keys, public_keys::create::create_public_key),
        routes!(public_keys::get::get_public_key, public_keys::delete::delete_public_key),
        routes!(instance_types::instance_types),
        routes!(instance_types::refresh_instance_types),
        routes!(reservations::list::list_reservations),
        routes!(reservations::get::get_reservation),
        routes!(reservations::create::create_aws_reservation),
        routes!(reservations::typed::get_aws_reservation),
        routes!(reservations::create::create_azure_reservation),
        routes!(reservations::typed::get_azure_reservation),
        routes!(reservations::create::create_gcp_reservation),
        routes!(reservations::typed::get_gcp_reservation),
        routes!(reservations::create::create_noop_reservation),
        routes!(reservations::typed::get_noop_reservation),
        routes!(launches::list::list_launches, launches::create::create_launch),
        routes!(launches::get::get_launch),
        routes!(launches::events::stream_launch),
        routes!(launches::parameters::submit_parameters),
        routes!(launches::cancel::cancel_launch),
        routes!(launches::retry::retry_launch),
        routes!(launches::retry::clean_up_launch),
        routes!(launches::detach::detach_launch),
        routes!(launches::terminate::terminate_launch),
        routes!(callback::launch_image_ready),
        routes!(callback::image_ready),
        routes!(inventory::list::list_inventory),
        routes!(inventory::get::get_instance, inventory::terminate::terminate_instance),
        routes!(images::list_images),
        routes!(distributions::list_distributions),
        routes!(distributions::list_architectures),
        routes!(ready::ready),
        routes!(ready::ready_service),
        routes!(feature::feature),
    ];
    all.into_iter().fold(OpenApiRouter::new(), with_and_without_slash)
}

/// Clients of the hosted service write every path in both ways. The description has it once.
fn with_and_without_slash(
    router: OpenApiRouter<LaunchState>,
    (schemas, paths, methods): UtoipaMethodRouter<LaunchState>,
) -> OpenApiRouter<LaunchState> {
    let with_slash: Vec<String> = paths.paths.keys().map(|path| format!("{path}/")).collect();
    let router = with_slash.iter().fold(router, |router, path| router.route(path, methods.clone()));
    router.routes((schemas, paths, methods))
}
