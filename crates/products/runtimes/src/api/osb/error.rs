//! Errors of the broker, in the words of the specification. Their text never repeats a value that a client sent.

use std::time::Duration;

use api::Error;
use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;

use server::http::{Failure, FailureKind};

const SOON: Duration = Duration::from_secs(1);

/// What any request can meet, in the words of this API: those of most APIs, without their codes.
pub(crate) fn fault(fault: FailureKind) -> Error {
    let mut error = match fault {
        FailureKind::NotJson { .. } => {
            Error::of_status(StatusCode::BAD_REQUEST, "Content-Type: must be application/json")
        }
        other => other.usual(),
    };
    error.code = "".into();
    error
}

pub(crate) fn unavailable(description: &str) -> Failure {
    Error::of_status(StatusCode::SERVICE_UNAVAILABLE, description).retry_after(SOON).into()
}

/// With a word of the specification for programs.
fn coded(code: &'static str, description: &str) -> Failure {
    let mut error = Error::of_status(StatusCode::UNPROCESSABLE_ENTITY, description);
    error.code = code.into();
    error.into()
}

pub(crate) fn bad(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::BAD_REQUEST, description)
}

/// Without good credentials a client learns no more than this.
pub(crate) fn unauthenticated() -> Failure {
    let text = "invalid credentials: use the token's name as user and the token as password";
    Failure::of_status(StatusCode::UNAUTHORIZED, text)
        .header(WWW_AUTHENTICATE, r#"Basic realm="provision-engine""#)
}

pub(crate) fn forbidden() -> Failure {
    Failure::of_status(StatusCode::FORBIDDEN, "this needs a token with the role broker or admin")
}

pub(crate) fn not_found(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::NOT_FOUND, description)
}

pub(crate) fn conflict(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::CONFLICT, description)
}

pub(crate) fn gone(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::GONE, description)
}

pub(crate) fn unprocessable(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::UNPROCESSABLE_ENTITY, description)
}

/// Clients compare the description too, word by word.
pub(crate) fn async_required() -> Failure {
    let text = "This service plan requires client support for asynchronous service operations.";
    coded("AsyncRequired", text)
}

/// Clients compare the description too, word by word.
pub(crate) fn busy() -> Failure {
    let text = "The Service Broker does not support concurrent requests that mutate the same resource.";
    coded("ConcurrencyError", text)
}

pub(crate) fn maintenance(description: &str) -> Failure {
    coded("MaintenanceInfoConflict", description)
}

pub(crate) fn not_bindable() -> Failure {
    coded("BindingNotSupported", "this plan offers no bindings")
}
