//! Errors of this API. Their texts never repeat an `Authorization`.

use std::time::Duration;

use api::Error;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use engine::store::StoreError;
use engine::{OperationId, Role};
use tracing::error;

use crate::model::RuntimeError;
use server::http::{Failure, FailureKind};

/// The member of an error that says which operation was accepted although the caller does not hear of its end.
const OPERATION: &str = "operation";

/// What any request can meet, in the words of this API: those of most APIs, with a title in place of a code.
pub(crate) fn fault(fault: FailureKind) -> Error {
    let (title, hint) = match &fault {
        FailureKind::NoSuchPath => ("Not found", Some("runtimes are at /serverless-runtimes")),
        FailureKind::MethodNotAllowed { .. } => {
            ("Method not allowed", Some("the header Allow says which it takes"))
        }
        FailureKind::Parameter { .. } => ("Invalid parameter", None),
        FailureKind::BodyCutOff
        | FailureKind::NotJson { .. }
        | FailureKind::Json(_)
        | FailureKind::NotAnObject => ("Invalid JSON", None),
        FailureKind::BodyTooLarge { .. } => ("Request body too large", None),
        FailureKind::SlowBody => ("Request timeout", None),
        FailureKind::Timeout => ("Gateway timeout", None),
        FailureKind::Internal | FailureKind::Store(StoreError::Fenced | StoreError::Refused(_)) => {
            ("Internal error", None)
        }
        FailureKind::Store(_) => ("Service unavailable", None),
    };
    let mut error = fault.usual();
    (error.code, error.title) = ("".into(), title.into());
    error.hint = hint.map(str::to_owned).or(error.hint.take());
    error
}

/// Adds what follows from the status.
pub(crate) fn complete(error: &mut Error) {
    match error.status.as_u16() {
        401 => {
            let basic = HeaderValue::from_static(r#"Basic realm="provision-engine""#);
            error.headers.insert(WWW_AUTHENTICATE, basic);
        }
        423 => error.retry_after = Some(Duration::from_secs(1)),
        503 | 504 => error.retry_after = Some(Duration::from_secs(5)),
        _ => {}
    }
}

/// Whether an operation was accepted all the same.
pub(crate) fn is_accepted(error: &Error) -> bool {
    error.more.contains_key(OPERATION)
}

pub(crate) fn new(status: StatusCode, title: &str, message: impl Into<String>) -> Failure {
    let mut error = Error::of_status(status, message);
    error.title = title.to_owned().into();
    error.into()
}

fn accepted(status: StatusCode, title: &str, message: String, operation: OperationId) -> Failure {
    new(status, title, message).with(OPERATION, operation.to_string())
}

pub(crate) fn authentication_required() -> Failure {
    new(StatusCode::UNAUTHORIZED, "Authentication required", "")
}

pub(crate) fn unsupported_scheme() -> Failure {
    let hint = "send the header Authorization: Basic with base64 of user:password, neither of them empty";
    new(StatusCode::UNAUTHORIZED, "Unsupported authentication scheme", hint)
}

pub(crate) fn role(needed: Role, has: Option<Role>) -> Failure {
    let has = has.map_or("none", Role::as_str);
    let hint = format!("this needs the role {needed}, and yours is {has}");
    new(StatusCode::FORBIDDEN, "Not allowed", hint)
}

pub(crate) fn no_all_users() -> Failure {
    let hint = "name an account of OpenNebula in the setting serverless.steward_one_auth";
    new(StatusCode::SERVICE_UNAVAILABLE, "The console has no account in OpenNebula", hint)
}

pub(crate) fn no_such_runtime() -> Failure {
    new(StatusCode::NOT_FOUND, "Serverless Runtime not found", "")
}

pub(crate) fn no_such_operation() -> Failure {
    new(StatusCode::NOT_FOUND, "Operation not found", "")
}

pub(crate) fn key_reused() -> Failure {
    let text = "this Idempotency-Key was used for another request; use a new key for a new runtime";
    new(StatusCode::UNPROCESSABLE_ENTITY, "Idempotency-Key reused", text)
}

/// Another operation has the runtime.
pub(crate) fn locked(title: &str, doing: String) -> Failure {
    new(StatusCode::LOCKED, title, doing)
}

pub(crate) fn busy(doing: String) -> Failure {
    locked("Cannot update Serverless Runtime Function VM FAAS on a transient state", doing)
}

/// It goes on by itself, and this is where.
pub(crate) fn takes_long(title: &str, operation: OperationId) -> Failure {
    let text = format!("it takes longer than expected and continues; look at {}", path_of(operation));
    accepted(StatusCode::GATEWAY_TIMEOUT, title, text, operation)
}

/// It is undone, and this is where that can be watched.
pub(crate) fn taken_back(title: &str, operation: OperationId) -> Failure {
    let text = format!("it took too long and is undone; look at {}", path_of(operation));
    accepted(StatusCode::GATEWAY_TIMEOUT, title, text, operation)
}

/// It failed, and what it did is being undone.
pub(crate) fn being_undone(title: &str, cause: &Error, operation: OperationId) -> Failure {
    let why = match cause.detail.as_str() {
        "" => cause.title.to_string(),
        message => format!("{}: {message}", cause.title),
    };
    let text = format!("it failed and is being undone: {why}; look at {}", path_of(operation));
    accepted(StatusCode::GATEWAY_TIMEOUT, title, text, operation)
}

pub(crate) fn stopping(operation: OperationId) -> Failure {
    let text =
        format!("the engine is stopping; the operation continues later, look at {}", path_of(operation));
    accepted(StatusCode::SERVICE_UNAVAILABLE, "Service unavailable", text, operation)
}

/// The path under which an operation can be watched.
pub(crate) fn path_of(operation: OperationId) -> String {
    format!("/serverless-runtimes/operations/{operation}")
}

/// Something of ours is not as it must be.
pub(crate) fn broken(why: &str) -> Failure {
    error!(why, "serverless API request failed");
    Failure::internal()
}

impl From<RuntimeError> for Failure {
    fn from(runtime_error: RuntimeError) -> Failure {
        Failure::Error(runtime_error.into())
    }
}
