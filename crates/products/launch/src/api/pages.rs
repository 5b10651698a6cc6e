//! What the hosted service has at its root: `/ping` and `/docs/openapi.json`, open to all. `/docs` is the reference of
//! the whole server, which has the address of the hosted service too.

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;

use super::LaunchState;
use super::guard::labelled;
use super::openapi::openapi_json;

/// Each with and without a slash at its end.
pub(crate) fn routes(shared: &LaunchState) -> Router {
    let description = get(openapi_json).layer(from_fn_with_state(LaunchState::clone(shared), labelled));
    let pages = [("/ping", get(|| async { StatusCode::OK })), ("/docs/openapi.json", description)];
    let root = Router::new().route("/docs/", get(|| async { Redirect::permanent("/docs") }));
    pages.into_iter().fold(root, |router, (path, handler)| {
        router.route(path, handler.clone()).route(&format!("{path}/"), handler)
    })
}
