//! How the Resource Manager says no.

use axum::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArmError {
    pub(super) status: StatusCode,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retry_after_s: Option<u64>,
}

impl ArmError {
    pub(super) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        ArmError {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.to_owned(),
            message: message.into(),
            retry_after_s: None,
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        ArmError::new(400, "InvalidParameter", message)
    }

    pub(super) fn no_resource(id: &str) -> Self {
        ArmError::new(404, "ResourceNotFound", format!("the resource '{id}' was not found"))
    }

    pub(super) fn no_group(group: &str) -> Self {
        let message = format!("resource group '{group}' could not be found");
        ArmError::new(404, "ResourceGroupNotFound", message)
    }

    pub(super) fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}
