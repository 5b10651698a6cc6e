//! The routes of this API, at the root of the site.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};

use super::{
    ServerlessApiParts, ServerlessShared, ServerlessState, create, delete, flavours, guard, info, list,
    operation, show, update,
};
use server::Shared;
use server::http;

/// What does not exist here is refused by this API, and by no other client.
const NOWHERE: [&str; 10] = [
    "/serverless-runtimes/",
    "/serverless-runtimes/{id}/",
    "/serverless-runtimes/{id}/{*rest}",
    "/serverless-runtimes/operations/",
    "/server",
    "/server/",
    "/server/{*rest}",
    "/engine",
    "/engine/",
    "/engine/{*rest}",
];

pub(crate) fn router(app: &Shared, api_parts: ServerlessApiParts) -> Router {
    let shared = Arc::new(ServerlessShared { app: Shared::clone(app), api_parts });
    let routes: Router<ServerlessState> = Router::new()
        .route("/serverless-runtimes/schema", get(info::schema))
        .route("/serverless-runtimes/flavours", get(flavours::flavours))
        .route("/server/version", get(info::version))
        .route("/engine/version", get(info::engine_version))
        .route("/server/config", get(info::config))
        .route("/serverless-runtimes", post(create::create).get(list::list))
        .route("/serverless-runtimes/{id}", get(show::show).put(update::update).delete(delete::delete))
        .route("/serverless-runtimes/operations/{id}", get(operation::watch));
    let nothing = || any(http::no_such_path);
    let routes = NOWHERE.into_iter().fold(routes, |routes, path| routes.route(path, nothing()));
    let routes = routes.method_not_allowed_fallback(http::method_not_allowed);
    http::serve(routes, Arc::clone(&shared)).layer(from_fn_with_state(shared, guard::logged))
}
