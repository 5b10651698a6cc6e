//! The routes of this door, at the root of the site.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::error;

use super::answer::Refused;
use super::{Counter, Desk, create, delete, enter, info, list, operation, show, update};
use crate::hall::Shared;

/// What does not exist here is refused by this door, and by nobody else.
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

/// `None` where nobody offers serverless runtimes.
pub(crate) fn router(hall: &Shared) -> Option<Router> {
    let door = hall.serverless.clone()?;
    let limit = door.body_limit_bytes;
    let desk = Arc::new(Counter { hall: Shared::clone(hall), door });
    let routes: Router<Desk> = Router::new()
        .route("/serverless-runtimes/schema", get(info::schema))
        .route("/server/version", get(info::version))
        .route("/engine/version", get(info::engine_version))
        .route("/server/config", get(info::config))
        .route("/serverless-runtimes", post(create::create).get(list::list))
        .route("/serverless-runtimes/{id}", get(show::show).put(update::update).delete(delete::delete))
        .route("/serverless-runtimes/operations/{id}", get(operation::watch));
    let nothing = || any(|| async { Refused::no_such_path() });
    let routes = NOWHERE.into_iter().fold(routes, |routes, path| routes.route(path, nothing()));
    Some(
        routes
            .method_not_allowed_fallback(|| async { Refused::method_not_allowed() })
            .layer(DefaultBodyLimit::max(limit))
            .layer(CatchPanicLayer::custom(broken))
            .layer(from_fn_with_state(Arc::clone(&desk), enter::enter))
            .with_state(desk),
    )
}

/// What a panic says is for the log alone.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over like this")]
fn broken(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    error!(panic = text, "a handler panicked");
    Refused::internal().into_response()
}
