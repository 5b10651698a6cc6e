//! Answers of this API: JSON without a charset.

use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::error::broken;
use server::http::{Failure, IDEMPOTENCY_REPLAYED};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What the log says about an answer; it travels with the response to where the log is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogNote {
    pub(crate) body: String,
    /// What was done with the runtime, in one word.
    pub(crate) entry: Option<&'static str>,
}

/// An answer on its way out.
pub(crate) struct RuntimeResponse {
    status: StatusCode,
    headers: HeaderMap,
    told: LogNote,
}

impl RuntimeResponse {
    /// Members come in the order of the type.
    pub(crate) fn new(status: StatusCode, body: &impl Serialize) -> Result<RuntimeResponse, Failure> {
        let body = serde_json::to_string(body).map_err(|error| broken(&error.to_string()))?;
        Ok(RuntimeResponse::of(status, body))
    }

    /// A body that is JSON already.
    pub(crate) fn of(status: StatusCode, body: String) -> RuntimeResponse {
        RuntimeResponse {
            status,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, JSON)]),
            told: LogNote { body, entry: None },
        }
    }

    pub(crate) fn ok(body: &impl Serialize) -> Result<RuntimeResponse, Failure> {
        RuntimeResponse::new(StatusCode::OK, body)
    }

    /// 204: no body, and no type of one.
    pub(crate) fn nothing() -> RuntimeResponse {
        RuntimeResponse {
            status: StatusCode::NO_CONTENT,
            headers: HeaderMap::new(),
            told: LogNote::default(),
        }
    }

    pub(crate) fn entry(mut self, entry: &'static str) -> RuntimeResponse {
        self.told.entry = Some(entry);
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(crate) fn location(&self) -> Option<String> {
        self.headers.get(LOCATION).and_then(|path| path.to_str().ok()).map(str::to_owned)
    }

    /// At the path of what was made.
    pub(crate) fn at(mut self, path: &str) -> RuntimeResponse {
        self.headers.extend(HeaderValue::from_str(path).ok().map(|path| (LOCATION, path)));
        self
    }

    /// As the caller asked for, it does not wait.
    pub(crate) fn not_waiting(mut self) -> RuntimeResponse {
        self.headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static("respond-async"));
        self
    }

    /// The same key was used before.
    pub(crate) fn replayed(mut self, replayed: bool) -> RuntimeResponse {
        if replayed {
            self.headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
        }
        self
    }
}

impl IntoResponse for RuntimeResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.headers, self.told.body.clone()).into_response();
        if self.status == StatusCode::NO_CONTENT {
            response.headers_mut().remove(CONTENT_TYPE);
        }
        response.extensions_mut().insert(self.told);
        response
    }
}
