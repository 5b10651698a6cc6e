//! Every route of the operations API, and the layers around them.

use axum::Router;
use axum::http::header::AUTHORIZATION;
use axum::middleware::from_fn_with_state;
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::{AppState, Server, Shared};
use crate::inside::Inside;
use crate::request_layer::request_layer;
use crate::{
    audit, diagnostics, docs, errors, health, http, metrics, openapi, operations, people, tokens, workflows,
};

/// All APIs, ready to be served.
///
/// The frame around all of them knows the request and finishes every answer; `http::serve` has the layers of each API.
pub fn router(server: Server) -> Router {
    open(server).0
}

/// The same, and the way in for those who are inside already.
pub fn open(server: Server) -> (Router, Inside) {
    let app = AppState::new(server);
    let router = assemble(&app);
    let inside = Inside::new(router.clone(), &app);
    (router, inside)
}

fn assemble(app: &Shared) -> Router {
    let (own, _) = routes().split_for_parts();
    let own = app.endpoints.iter().fold(own, |own, product| own.merge(product.routes(app)));
    let own = http::serve(own.fallback(http::no_such_path), Shared::clone(app));
    // These have guards of their own, which speak the words that their callers know.
    let others = app.endpoints.iter().filter_map(|product| product.api(app));
    let secret = app.endpoints.iter().flat_map(|product| product.secret_headers()).cloned();
    others
        .fold(own, Router::merge)
        .layer(from_fn_with_state(Shared::clone(app), request_layer))
        .layer(SetSensitiveRequestHeadersLayer::new([AUTHORIZATION].into_iter().chain(secret)))
}

pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(operations::list::list_operations, operations::submit::submit))
        .routes(routes!(operations::totals::count_operations))
        .routes(routes!(operations::totals::group_failures))
        .routes(routes!(operations::get::get_operation))
        .routes(routes!(operations::journal::get_journal))
        .routes(routes!(operations::stream::stream_events))
        .routes(routes!(operations::explain::explain_operation))
        .routes(routes!(operations::control::cancel))
        .routes(routes!(operations::control::pause))
        .routes(routes!(operations::control::resume))
        .routes(routes!(operations::control::retry))
        .routes(routes!(operations::signal::signal))
        .routes(routes!(operations::signal_one::signal_operation))
        .routes(routes!(operations::plan::list_workflows))
        .routes(routes!(
            operations::plan::get_workflow,
            workflows::apply::apply_workflow,
            workflows::delete::delete_workflow
        ))
        .routes(routes!(workflows::versions::list_workflow_versions))
        .routes(routes!(workflows::versions::get_workflow_version))
        .routes(routes!(workflows::dry_run::dry_run_workflow))
        .routes(routes!(operations::calls::get_workflow_calls))
        .routes(routes!(tokens::list::list_tokens, tokens::create::create_token))
        .routes(routes!(tokens::delete::delete_token))
        .routes(routes!(people::list::list_users, people::create::create_user))
        .routes(routes!(people::change::change_user, people::delete::delete_user))
        .routes(routes!(people::sign_out::sign_out_user))
        .routes(routes!(people::sessions::list_sessions))
        .routes(routes!(people::sessions::end_session))
        .routes(routes!(people::my_password::change_my_password))
        .routes(routes!(audit::audit_log))
        .routes(routes!(diagnostics::settings::list_settings))
        .routes(routes!(diagnostics::systems::list_systems))
        .routes(routes!(diagnostics::keys::list_keys))
        .routes(routes!(diagnostics::keys::rotate_keys))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::metrics))
        .routes(routes!(openapi::openapi_json))
        .routes(routes!(docs::index))
        .routes(routes!(docs::one))
        .routes(routes!(docs::style))
        .routes(routes!(errors::list_errors))
        .routes(routes!(errors::show_error))
}
