//! A call that Compute Engine does not carry out, in its words.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

#[derive(Debug, Clone)]
pub(super) struct GceError {
    pub(super) status: StatusCode,
    pub(super) reason: String,
    pub(super) message: String,
}

impl GceError {
    pub(super) fn new(status: u16, reason: &str, message: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        GceError { status, reason: reason.to_owned(), message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        GceError::new(400, "invalid", message)
    }

    pub(super) fn not_found(path: &str) -> Self {
        GceError::new(404, "notFound", format!("The resource '{path}' was not found"))
    }

    pub(super) fn forbidden(permission: &str, path: &str) -> Self {
        GceError::new(403, "forbidden", format!("Required '{permission}' permission for '{path}'"))
    }
}

impl IntoResponse for GceError {
    fn into_response(self) -> Response {
        let GceError { status, reason, message } = self;
        let domain = if status == StatusCode::FORBIDDEN && reason.contains("Exceeded") {
            "usageLimits"
        } else {
            "global"
        };
        let mut body = json!({"error": {
            "code": status.as_u16(),
            "message": message,
            "errors": [{"message": message, "domain": domain, "reason": reason}],
        }});
        let item = &mut body["error"]["errors"][0];
        match reason.as_str() {
            "accessNotConfigured" => {
                item["extendedHelp"] = "https://console.developers.google.com".into();
                item["domain"] = "usageLimits".into();
                body["error"]["status"] = "PERMISSION_DENIED".into();
                body["error"]["details"] = json!([{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED",
                    "domain": "googleapis.com", "metadata": {"service": "compute.googleapis.com"},
                }]);
            }
            "authError" => {
                item["location"] = "Authorization".into();
                item["locationType"] = "header".into();
                body["error"]["status"] = "UNAUTHENTICATED".into();
            }
            _ => {}
        }
        (status, Json(body)).into_response()
    }
}
