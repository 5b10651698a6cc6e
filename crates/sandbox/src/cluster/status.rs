//! How a Kubernetes API says no: mostly with an object of kind `Status`, and sometimes with a line of text.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct StatusFailure {
    code: StatusCode,
    reason: &'static str,
    message: String,
    /// What it is about.
    details: Value,
}

/// The reason of a path that no installed API has.
const NO_SUCH_API: &str = "";

impl StatusFailure {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        StatusFailure { code, reason, message: message.into(), details: Value::Null }
    }

    fn about(mut self, resource: &str, name: &str) -> Self {
        self.details = details(resource, name);
        self
    }

    pub(super) fn unauthorized() -> Self {
        StatusFailure::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The type of the object is not installed. That says nothing about the object, and is no `Status`.
    pub(super) fn no_such_api() -> Self {
        StatusFailure::new(StatusCode::NOT_FOUND, NO_SUCH_API, "404 page not found\n")
    }

    pub(super) fn not_found(resource: &str, name: &str) -> Self {
        let message = format!("{resource} {name:?} not found");
        StatusFailure::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource, name)
    }

    pub(super) fn already_exists(resource: &str, name: &str) -> Self {
        let message = format!("{resource} {name:?} already exists");
        StatusFailure::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        StatusFailure::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        StatusFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        StatusFailure::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// The server knows the caller, and no role lets the caller do this.
    pub(super) fn no_right(user: &str) -> Self {
        StatusFailure::forbidden(format!("forbidden: User {user:?} cannot do this"))
    }
}

/// The resource and its group, as a `Status` names them.
pub(super) fn details(resource: &str, name: &str) -> Value {
    match resource.split_once('.') {
        Some((kind, group)) => json!({"name": name, "group": group, "kind": kind}),
        None => json!({"name": name, "kind": resource}),
    }
}

/// What a server answers that is failing. The text of a timeout is a `Status` without its kind.
pub(crate) fn on_fault(code: StatusCode) -> Response {
    const TEXT: (header::HeaderName, &str) = (header::CONTENT_TYPE, "text/plain; charset=utf-8");
    match code {
        StatusCode::TOO_MANY_REQUESTS => {
            (code, [TEXT], "Too many requests, please try again later.\n").into_response()
        }
        StatusCode::GATEWAY_TIMEOUT => {
            let message = "Timeout: request did not complete within the allotted timeout";
            let status = json!({
                "metadata": {}, "status": "Failure", "message": message, "reason": "Timeout", "details": {},
                "code": 504,
            });
            (code, [TEXT], status.to_string()).into_response()
        }
        StatusCode::FORBIDDEN => StatusFailure::no_right("admin").into_response(),
        StatusCode::NOT_FOUND => StatusFailure::no_such_api().into_response(),
        _ => StatusFailure::new(code, "InternalError", "a scripted fault").into_response(),
    }
}

impl IntoResponse for StatusFailure {
    fn into_response(self) -> Response {
        if self.reason == NO_SUCH_API {
            let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            return (self.code, text, self.message).into_response();
        }
        let mut body = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if !self.details.is_null() {
            body["details"] = self.details;
        }
        (self.code, Json(body)).into_response()
    }
}
