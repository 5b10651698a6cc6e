//! How a Kubernetes API says no: an object of kind `Status`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

#[derive(Debug)]
pub(super) struct Failure {
    code: StatusCode,
    reason: &'static str,
    message: String,
}

impl Failure {
    pub(super) fn unauthorized() -> Self {
        Failure { code: StatusCode::UNAUTHORIZED, reason: "Unauthorized", message: "Unauthorized".into() }
    }

    pub(super) fn not_found(resource: &str, name: &str) -> Self {
        let message = format!("{resource} {name:?} not found");
        Failure { code: StatusCode::NOT_FOUND, reason: "NotFound", message }
    }

    pub(super) fn already_exists(resource: &str, name: &str) -> Self {
        let message = format!("{resource} {name:?} already exists");
        Failure { code: StatusCode::CONFLICT, reason: "AlreadyExists", message }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Failure { code: StatusCode::BAD_REQUEST, reason: "BadRequest", message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Failure { code: StatusCode::UNPROCESSABLE_ENTITY, reason: "Invalid", message: message.into() }
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Failure { code: StatusCode::FORBIDDEN, reason: "Forbidden", message: message.into() }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        (self.code, Json(body)).into_response()
    }
}
