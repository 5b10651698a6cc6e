//! Every page, and the layers around them.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use crate::assets::asset;
use crate::base::rebase;
use crate::flash::see_other;
use crate::page_error::PageError;
use crate::shared::{Console, ConsoleShared, ConsoleState};
use crate::shell::Section;
use crate::signed_in::SignedIn;
use crate::{admin, home, me, operations, path, sign_in, theme, workflows};

/// The largest form that is read: an image with its packages, users and a key fits many times.
const FORM_BYTES_MAX: usize = 256 * 1024;
/// Everything comes from here, nothing is written into a page, and no other site may put it into a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

pub(crate) static MENU: [&Section; 4] =
    [&home::SECTION, &operations::SECTION, &workflows::SECTION, &admin::SECTION];

/// All pages, ready to be served beside the APIs.
pub fn router(mut console: Console) -> Router {
    let products = std::mem::take(&mut console.pages.routes);
    let shared = ConsoleShared::new(console);
    let small = DefaultPredicate::new().and(NotForContentType::SSE);
    Router::new()
        .merge(pages())
        .merge(products)
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(ConsoleState::clone(&shared), rebase))
        .layer(CompressionLayer::new().gzip(true).compress_when(small))
        .layer(from_fn_with_state(ConsoleState::clone(&shared), finish))
        .with_state(shared)
}

fn pages() -> Router<ConsoleState> {
    Router::new()
        .route("/", get(|| async { see_other(path::HOME) }))
        .route("/console/assets/{digest}/{name}", get(asset))
        .route("/console/theme", post(theme::choose))
        .merge(sign_in::routes())
        .merge(home::routes())
        .merge(operations::routes())
        .merge(workflows::routes())
        .merge(admin::routes())
        .merge(me::routes())
        .route("/console/{*rest}", get(nowhere))
}

async fn nowhere(
    axum::extract::State(_shared): axum::extract::State<ConsoleState>,
    signed_in: SignedIn,
) -> Response {
    PageError::missing("page at this address").page(&signed_in)
}

/// The headers of every answer.
async fn finish(
    axum::extract::State(shared): axum::extract::State<ConsoleState>,
    request: Request,
    next: Next,
) -> Response {
    let began = shared.inside.engine().now();
    let mut response = next.run(request).await.into_response();
    let took = shared.inside.engine().now().since(began);
    let headers = response.headers_mut();
    let is_stream = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if !is_stream
        && let Ok(time) = HeaderValue::from_str(&format!("app;dur={:.1}", took.as_secs_f64() * 1000.0))
    {
        headers.insert(SERVER_TIMING, time);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(PERMISSIONS_POLICY, HeaderValue::from_static("camera=(), microphone=(), geolocation=()"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
