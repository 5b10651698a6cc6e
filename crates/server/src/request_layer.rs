//! Around every request: its id, its span, its time, and the headers of every answer.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, debug, info, info_span, warn};

use crate::app_state::{RequestId, Shared};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_CHARS_MAX: usize = 64;

/// In a response that has no other headers than its callers know, and an id.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

/// The one label for all paths that do not exist, however many a client tries.
const OTHER: &str = "other";

pub async fn request_layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let began = app.engine.now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or(OTHER, MatchedPath::as_str).to_owned();
    request.extensions_mut().insert(id.clone());
    let span = info_span!("request", request.id = %id.0, %method, route = %route, status = Empty);
    let mut response = next.run(request).instrument(span.clone()).await;
    let is_plain = response.extensions_mut().remove::<Plain>().is_some();
    finish_headers(response.headers_mut(), &id, is_plain);
    let status = response.status().as_u16();
    let took = app.engine.now().since(began);
    app.meter.answered(label(&method), &route, status, took);
    span.record("status", status);
    span.in_scope(|| {
        let took_ms = took.as_millis();
        match status {
            500.. => warn!(took_ms, "request answered"),
            _ if method.is_safe() => debug!(took_ms, "request answered"),
            _ => info!(took_ms, "request answered"),
        }
    });
    response
}

/// The caller's own id if it is safe in logs and headers, or else a new one.
fn request_id(headers: &HeaderMap) -> RequestId {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
    let given = given.filter(|id| (1..=REQUEST_ID_CHARS_MAX).contains(&id.len()) && id.chars().all(is_safe));
    RequestId(given.map_or_else(|| format!("{:016x}", rand::random::<u64>()), str::to_owned))
}

fn finish_headers(headers: &mut HeaderMap, id: &RequestId, is_plain: bool) {
    headers.insert(X_REQUEST_ID, id.header());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_plain {
        return;
    }
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// A method that a client made up is no label.
fn label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sane_request_id_is_kept_and_any_other_is_replaced() {
        let id = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(X_REQUEST_ID, HeaderValue::from_str(text).unwrap());
            request_id(&headers).0
        };
        assert_eq!(id("ab-1_2.C"), "ab-1_2.C");
        let long = "a".repeat(REQUEST_ID_CHARS_MAX + 1);
        for bad in ["", "a b", "a\"b", "<script>", long.as_str()] {
            assert_ne!(id(bad), bad);
            assert_eq!(id(bad).len(), 16);
        }
    }
}
