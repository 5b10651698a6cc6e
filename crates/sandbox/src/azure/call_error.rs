//! How the Resource Manager says no.

use axum::http::StatusCode;
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArmError {
    pub(super) status: StatusCode,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) retry_after_s: Option<u64>,
    details: Option<Vec<Value>>,
}

impl ArmError {
    pub(super) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        ArmError {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.to_owned(),
            message: message.into(),
            retry_after_s: None,
            details: None,
        }
    }

    /// Network always has a list of causes, most of the time an empty one.
    pub(super) fn of_network(status: u16, code: &str, message: impl Into<String>) -> Self {
        ArmError { details: Some(Vec::new()), ..ArmError::new(status, code, message) }
    }

    /// A general word, with the cause in the details.
    pub(super) fn caused(status: u16, code: &str, cause: &str, message: impl Into<String>) -> Self {
        let error = ArmError::new(status, code, message);
        let detail = json!({"code": cause, "message": error.message});
        ArmError { details: Some(vec![detail]), ..error }
    }

    /// What is referred to is not ready. Network says it with the status of a rate that is used up.
    pub(super) fn not_ready(message: impl Into<String>) -> Self {
        ArmError::caused(429, "RetryableError", "ReferencedResourceNotProvisioned", message)
    }

    pub(super) fn about(mut self, target: &str) -> Self {
        for detail in self.details.iter_mut().flatten() {
            detail["target"] = json!(target);
        }
        self
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
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(details) = &self.details {
            error["details"] = json!(details);
        }
        json!({"error": error})
    }
}
