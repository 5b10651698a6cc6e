//! Around every answer of this door: the headers that callers follow a request by, and the body of a refusal.

use axum::Json;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use workflows::launch::rejection::Flaw;

use super::refused::{Inner, Refused};
use super::{BuildInfo, wire};
use crate::hall::RequestId;

const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
const EDGE_ID: HeaderName = HeaderName::from_static("x-rh-edge-request-id");
const VERSION: HeaderName = HeaderName::from_static("x-rh-version");
const ID_CHARS_MAX: usize = 128;

/// What a request says about itself.
pub(super) struct Envelope {
    trace_id: String,
    edge_id: String,
    correlation_id: Option<HeaderValue>,
}

impl Envelope {
    pub(super) fn of(request: &Request) -> Envelope {
        let trace_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
        let edge_id = id_in(request.headers(), &EDGE_ID).unwrap_or_default();
        let correlation_id = id_in(request.headers(), &CORRELATION_ID);
        let correlation_id = correlation_id.and_then(|id| HeaderValue::from_str(&id).ok());
        Envelope { trace_id, edge_id, correlation_id }
    }

    /// Puts the answer into its final form.
    pub(super) fn close(self, mut response: Response, build: &BuildInfo) -> Response {
        if let Some(refused) = response.extensions_mut().remove::<Refused>() {
            let body = self.body(refused.into_inner(), build);
            let headers = std::mem::take(response.headers_mut());
            let mut written = (response.status(), Json(body)).into_response();
            written.headers_mut().extend(headers.into_iter().filter_map(|(name, value)| {
                name.filter(|name| *name != CONTENT_TYPE).map(|name| (name, value))
            }));
            *written.extensions_mut() = std::mem::take(response.extensions_mut());
            response = written;
        }
        let version = HeaderValue::from_str(&format!("{} ({})", build.version, build.time));
        response.headers_mut().extend(version.ok().map(|version| (VERSION, version)));
        response.headers_mut().extend(self.correlation_id.map(|id| (CORRELATION_ID, id)));
        response
    }

    fn body(&self, inner: Inner, build: &BuildInfo) -> wire::Error {
        wire::Error {
            msg: inner.sentence(),
            trace_id: self.trace_id.clone(),
            edge_id: self.edge_id.clone(),
            error: inner.cause,
            version: build.version.clone(),
            build_time: build.time.clone(),
            environment: build.environment.clone(),
            code: inner.code.to_owned(),
            field: inner.field,
            hint: inner.hint,
            flaws: Some(inner.flaws).filter(|flaws| flaws.len() > 1).map(flaws),
        }
    }
}

fn flaws(flaws: Vec<Flaw>) -> Vec<wire::Flaw> {
    let told = |Flaw { field, message, hint }| wire::Flaw { field, message, hint };
    flaws.into_iter().map(told).collect()
}

/// An id that is safe in logs, headers and bodies; any other is none.
fn id_in(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:=+/".contains(&byte);
    let fits = (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_fine);
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_is_safe_everywhere_is_repeated() {
        let id = |text: &[u8]| {
            id_in(&HeaderMap::from_iter([(EDGE_ID, HeaderValue::from_bytes(text).unwrap())]), &EDGE_ID)
        };
        assert_eq!(id(b"7f3a-19.B").as_deref(), Some("7f3a-19.B"));
        let long = "a".repeat(ID_CHARS_MAX + 1);
        for bad in [b"".as_slice(), b"a b", b"<script>", b"\xff", b"a\"", long.as_bytes()] {
            assert_eq!(id(bad), None);
        }
    }
}
