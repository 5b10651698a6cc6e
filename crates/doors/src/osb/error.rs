//! Errors of the broker, in the words of the specification. Their text never repeats a value that a client sent.

use std::time::Duration;

use api::Error;
use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;
use engine::store::StoreError;

use crate::http::{Failure, Fault, JsonFault};

const SOON: Duration = Duration::from_secs(1);

/// What any request can meet, in the words of this API.
pub(super) fn fault(fault: Fault) -> Error {
    let (status, text) = match fault {
        Fault::NoSuchPath => (StatusCode::NOT_FOUND, "there is nothing at this path".into()),
        Fault::MethodNotAllowed { .. } => {
            (StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method".into())
        }
        Fault::Parameter { name, rule } => (StatusCode::BAD_REQUEST, format!("{name}: {rule}")),
        Fault::NotJson { .. } => (StatusCode::BAD_REQUEST, "Content-Type: must be application/json".into()),
        Fault::BodyCutOff => (StatusCode::BAD_REQUEST, "the body could not be read to its end".into()),
        Fault::BodyTooLarge { limit } => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes"))
        }
        // A 5xx would make the platform delete what it did not get to ask for.
        Fault::SlowBody => (StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".into()),
        Fault::Json(JsonFault { line, column, .. }) => {
            (StatusCode::BAD_REQUEST, format!("the body is not JSON; see line {line} column {column}"))
        }
        Fault::NotAnObject => (StatusCode::BAD_REQUEST, "the body must be a JSON object".into()),
        Fault::Timeout => {
            let text = "the request was not answered in time; what was asked for may still happen";
            (StatusCode::GATEWAY_TIMEOUT, text.into())
        }
        Fault::Internal | Fault::Store(StoreError::Fenced | StoreError::Refused(_)) => {
            let text = "something broke while the request was handled; the log has the request id";
            (StatusCode::INTERNAL_SERVER_ERROR, text.into())
        }
        Fault::Store(StoreError::Unavailable(_)) => {
            return not_now("the database is not answering; try again in a moment");
        }
        Fault::Store(StoreError::Full(_)) => {
            return not_now("the database has no room left; an operator must make some");
        }
    };
    Error::of_status(status, text)
}

fn not_now(description: &str) -> Error {
    Error::of_status(StatusCode::SERVICE_UNAVAILABLE, description).retry_after(SOON)
}

pub(super) fn unavailable(description: &str) -> Failure {
    not_now(description).into()
}

/// With a word of the specification for programs.
fn coded(code: &'static str, description: &str) -> Failure {
    let mut error = Error::of_status(StatusCode::UNPROCESSABLE_ENTITY, description);
    error.code = code.into();
    error.into()
}

pub(super) fn bad(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::BAD_REQUEST, description)
}

/// Without good credentials a client learns no more than this.
pub(super) fn unauthenticated() -> Failure {
    let text =
        "the credentials are not good; send the name of a token as the user and the token as the password";
    Failure::of_status(StatusCode::UNAUTHORIZED, text)
        .header(WWW_AUTHENTICATE, r#"Basic realm="provision-engine""#)
}

pub(super) fn forbidden() -> Failure {
    Failure::of_status(StatusCode::FORBIDDEN, "this needs a token with the role broker or admin")
}

pub(super) fn not_found(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::NOT_FOUND, description)
}

pub(super) fn conflict(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::CONFLICT, description)
}

pub(super) fn gone(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::GONE, description)
}

pub(super) fn unprocessable(description: impl Into<String>) -> Failure {
    Failure::of_status(StatusCode::UNPROCESSABLE_ENTITY, description)
}

/// Clients compare the description too, word by word.
pub(super) fn async_required() -> Failure {
    let text = "This service plan requires client support for asynchronous service operations.";
    coded("AsyncRequired", text)
}

/// Clients compare the description too, word by word.
pub(super) fn busy() -> Failure {
    let text = "The Service Broker does not support concurrent requests that mutate the same resource.";
    coded("ConcurrencyError", text)
}

pub(super) fn maintenance(description: &str) -> Failure {
    coded("MaintenanceInfoConflict", description)
}

pub(super) fn not_bindable() -> Failure {
    coded("BindingNotSupported", "this plan offers no bindings")
}
