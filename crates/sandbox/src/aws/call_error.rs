//! How EC2 and STS say no: a code for programs and a sentence for people.

use std::borrow::Cow;

use axum::http::StatusCode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AwsError {
    pub(super) code: Cow<'static, str>,
    pub(super) message: String,
}

impl AwsError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        AwsError { code: Cow::Borrowed(code), message: message.into() }
    }

    pub(super) fn missing(parameter: &str) -> Self {
        AwsError::new("MissingParameter", format!("the parameter {parameter} is missing"))
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        AwsError::new("InvalidParameterValue", message)
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.code == DRY_RUN
    }

    pub(super) fn dry_run() -> Self {
        AwsError::new(DRY_RUN, "this would have been carried out, but DryRun was set")
    }

    pub(super) fn status(&self) -> StatusCode {
        match &*self.code {
            DRY_RUN => StatusCode::PRECONDITION_FAILED,
            "AuthFailure" => StatusCode::UNAUTHORIZED,
            "AccessDenied"
            | "ExpiredToken"
            | "InvalidClientTokenId"
            | "MissingAuthenticationToken"
            | "OptInRequired"
            | "SignatureDoesNotMatch"
            | "UnauthorizedOperation" => StatusCode::FORBIDDEN,
            "InsufficientCapacity"
            | "InsufficientHostCapacity"
            | "InsufficientInstanceCapacity"
            | "InternalError"
            | "InternalFailure" => StatusCode::INTERNAL_SERVER_ERROR,
            "RequestLimitExceeded" | "ServiceUnavailable" | "SlowDown" | "Unavailable" => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

const DRY_RUN: &str = "DryRunOperation";
