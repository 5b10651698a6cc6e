//! How every external system reads a body and says no: JSON in, and `{"error": "…"}` out.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;

const BODY_BYTES_MAX: usize = 64 * 1024;

pub(crate) fn body_limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(BODY_BYTES_MAX)
}

/// A call that is not carried out, and why.
#[derive(Debug)]
pub(crate) struct CallError {
    status: StatusCode,
    message: String,
}

impl CallError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        CallError { status, message: message.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        CallError::new(StatusCode::BAD_REQUEST, message)
    }
}

impl IntoResponse for CallError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.message}))).into_response()
    }
}

/// A JSON body. The content type does not matter, because people try these external systems with curl.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = CallError;

    async fn from_request(request: Request, state: &S) -> Result<Self, CallError> {
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejected_call| CallError::new(rejected_call.status(), rejected_call.body_text()))?;
        serde_json::from_slice(&bytes)
            .map(JsonBody)
            .map_err(|error| CallError::bad_request(error.to_string()))
    }
}

impl From<QueryRejection> for CallError {
    fn from(rejected_call: QueryRejection) -> Self {
        CallError::new(rejected_call.status(), rejected_call.body_text())
    }
}

impl From<PathRejection> for CallError {
    fn from(rejected_call: PathRejection) -> Self {
        CallError::new(rejected_call.status(), rejected_call.body_text())
    }
}
