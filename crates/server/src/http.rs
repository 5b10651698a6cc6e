//! The HTTP kit, once for all APIs: what an API is, its guard, its errors on their way out, and how bodies are read.
//!
//! An API implements [`Api`] for its state: how it writes errors, and whom it lets in. [`serve`] puts the layers around
//! its routes.

pub mod body;
mod failure;
mod guard;
mod idempotency;
pub mod openapi;
pub mod rights;
mod slow_body;
mod ttl_cache;
mod wait;

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::error;

pub use failure::{Failure, FailureKind, JsonFault};
pub use guard::{Admission, Api, Denial, Note, described, request_id};
pub use idempotency::{IDEMPOTENCY_REPLAYED, idempotency_key};
pub use slow_body::{SlowBody, body_within, is_slow_body};
pub use ttl_cache::TtlCache;
pub use wait::OperationEvents;

/// The layers around the routes of an API. From the outside in: errors are written, a panic becomes an error, the guard
/// lets in who has a right and carries changes to their end, and a panic in a handler becomes an error before the guard
/// writes down how the call ended.
pub fn serve<A: Api>(routes: Router<Arc<A>>, api: Arc<A>) -> Router {
    routes
        .layer(CatchPanicLayer::custom(broken))
        .layer(from_fn_with_state(Arc::clone(&api), guard::guard::<A>))
        .layer(CatchPanicLayer::custom(broken))
        .layer(from_fn_with_state(Arc::clone(&api), guard::finish::<A>))
        .layer(DefaultBodyLimit::max(api.body_limit_bytes()))
        .with_state(api)
}

pub async fn no_such_path() -> Failure {
    FailureKind::NoSuchPath.into()
}

/// For routers that set the header `Allow` themselves.
#[expect(clippy::unused_async, reason = "a handler is asynchronous")]
pub async fn method_not_allowed(method: Method) -> Failure {
    FailureKind::MethodNotAllowed { method, allowed: String::new() }.into()
}

/// What a panic says is for the log alone.
#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over like this")]
fn broken(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    error!(panic = text, "request handler panicked");
    Failure::internal().into_response()
}
