//! Every route of the operations door, and the layers around them.

use axum::Router;
use axum::http::header::AUTHORIZATION;
use axum::middleware::from_fn_with_state;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::frame::frame;
use crate::hall::{Doors, Hall, Shared};
use crate::inside::Inside;
use crate::launch::X_RH_IDENTITY;
use crate::{
    audit, errors, health, http, launch, metrics, openapi, operations, osb, people, runtimes, serverless,
    tokens, upkeep,
};

/// All doors, ready to be served.
///
/// The frame around all of them knows the request and finishes every answer; `http::serve` has the layers of each API.
pub fn router(doors: Doors) -> Router {
    open(doors).0
}

/// The same, and the way in for those who are inside already.
pub fn open(doors: Doors) -> (Router, Inside) {
    let hall = Hall::new(doors);
    let router = assemble(&hall);
    let inside = Inside::new(router.clone(), &hall);
    (router, inside)
}

fn assemble(hall: &Shared) -> Router {
    let (router, _) = routes().split_for_parts();
    let own = http::serve(router.fallback(http::no_such_path), Shared::clone(hall));
    // These have guards of their own, which speak the words that their callers know.
    let others = [osb::router(hall), serverless::router(hall), launch::router(hall)];
    let all = others.into_iter().flatten().fold(own, Router::merge);
    all.layer(from_fn_with_state(Shared::clone(hall), frame))
        .layer(SetSensitiveRequestHeadersLayer::new([AUTHORIZATION, X_RH_IDENTITY]))
}

pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(operations::list::list_operations, operations::submit::submit))
        .routes(routes!(operations::get::get_operation))
        .routes(routes!(operations::journal::get_journal))
        .routes(routes!(operations::stream::stream_events))
        .routes(routes!(operations::explain::explain_operation))
        .routes(routes!(operations::control::cancel))
        .routes(routes!(operations::control::pause))
        .routes(routes!(operations::control::resume))
        .routes(routes!(operations::control::retry))
        .routes(routes!(operations::signal::signal))
        .routes(routes!(operations::plan::list_workflows))
        .routes(routes!(operations::plan::get_workflow))
        .routes(routes!(operations::calls::get_workflow_calls))
        .routes(routes!(runtimes::list::list_runtimes))
        .routes(routes!(runtimes::get::get_runtime))
        .routes(routes!(runtimes::operations::list_runtime_operations))
        .routes(routes!(runtimes::events::list_runtime_events))
        .routes(routes!(runtimes::force_delete::force_delete_runtime))
        .routes(routes!(runtimes::repair::repair_runtime))
        .routes(routes!(runtimes::info::info_runtimes))
        .routes(routes!(runtimes::kubeconfig::get_kubeconfig))
        .routes(routes!(runtimes::expire::expire_service_instance))
        .routes(routes!(tokens::list::list_tokens, tokens::create::create_token))
        .routes(routes!(tokens::delete::delete_token))
        .routes(routes!(people::list::list_users, people::create::create_user))
        .routes(routes!(people::change::change_user, people::delete::delete_user))
        .routes(routes!(people::sign_out::sign_out_user))
        .routes(routes!(people::sessions::list_sessions))
        .routes(routes!(people::sessions::end_session))
        .routes(routes!(people::my_password::change_my_password))
        .routes(routes!(audit::audit_log))
        .routes(routes!(upkeep::settings::list_settings))
        .routes(routes!(upkeep::systems::list_systems))
        .routes(routes!(upkeep::keys::list_keys))
        .routes(routes!(upkeep::keys::rotate_keys))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
        .routes(routes!(openapi::openapi_json))
        .routes(routes!(osb::openapi::osb_json))
        .routes(routes!(serverless::openapi::serverless_json))
        .routes(routes!(launch::openapi::launch_json))
        .routes(routes!(errors::list_errors))
        .routes(routes!(errors::show_error))
}
