//! `Failure`: what a handler returns in place of an answer. The router that it is in writes it in the format of its API.

use std::fmt::Display;
use std::time::Duration;

use api::{Code, Error};
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::store::StoreError;
use serde_json::Value;

use super::SlowBody;

const SOON: Duration = Duration::from_secs(1);

/// Why a request is not done.
#[derive(Debug, Clone)]
pub enum Failure {
    Error(Error),
    Fault(FailureKind),
}

/// What any request can meet, whatever it asks for. Each API has its own words for it.
#[derive(Debug, Clone)]
pub enum FailureKind {
    NoSuchPath,
    MethodNotAllowed {
        method: Method,
        allowed: String,
    },
    /// A part of the query, of the path or of the headers.
    Parameter {
        name: String,
        rule: String,
    },
    /// The body was announced as another type than JSON.
    NotJson {
        given: String,
    },
    BodyCutOff,
    BodyTooLarge {
        limit: usize,
    },
    SlowBody,
    Json(JsonFault),
    NotAnObject,
    Timeout,
    /// What broke is in the log, and the caller is told nothing of it.
    Internal,
    Store(StoreError),
}

impl FailureKind {
    /// The words that most APIs have in common.
    pub fn usual(self) -> Error {
        match self {
            FailureKind::NoSuchPath => Error::new(Code::NotFound, "there is nothing at this path"),
            FailureKind::MethodNotAllowed { .. } => {
                Error::new(Code::MethodNotAllowed, "this path does not take this method")
            }
            FailureKind::Parameter { name, rule } => {
                Error::new(Code::InvalidParameter, format!("{name}: {rule}"))
            }
            FailureKind::NotJson { .. } => {
                Error::new(Code::UnsupportedMediaType, "the body is not sent as JSON")
            }
            FailureKind::BodyCutOff => Error::new(Code::InvalidBody, "the body could not be read to its end"),
            FailureKind::BodyTooLarge { limit } => {
                Error::new(Code::BodyTooLarge, format!("the body is larger than {limit} bytes"))
            }
            FailureKind::SlowBody => Error::new(Code::SlowBody, SlowBody.to_string()),
            FailureKind::Json(JsonFault { line, column, .. }) => {
                let detail = format!("the body is not JSON; see line {line} column {column}");
                Error::new(Code::MalformedJson, detail)
            }
            FailureKind::NotAnObject => Error::new(Code::InvalidBody, "the body must be a JSON object"),
            FailureKind::Timeout => Error::new(Code::Timeout, "the request was not answered in time")
                .hint("what was asked for may still happen"),
            FailureKind::Internal | FailureKind::Store(StoreError::Fenced | StoreError::Refused(_)) => {
                Error::new(Code::Internal, "something broke while the request was handled")
                    .hint("the log has the request id")
            }
            FailureKind::Store(StoreError::Unavailable(_)) => {
                Error::new(Code::DatabaseUnavailable, "the database is not answering")
                    .hint("try again in a moment")
                    .retry_after(SOON)
            }
            FailureKind::Store(StoreError::Full(_)) => {
                Error::new(Code::DatabaseFull, "the database has no room left")
                    .hint("an operator must make some")
                    .retry_after(SOON)
            }
        }
    }
}

/// Where a body is not as it must be. What the parser says may repeat a secret, so some APIs leave it out.
#[derive(Debug, Clone)]
pub struct JsonFault {
    /// It is JSON, and a value in it has the wrong type.
    pub is_json: bool,
    pub is_object: bool,
    pub field: Option<String>,
    pub line: usize,
    pub column: usize,
    pub text: String,
}

impl Failure {
    pub fn new(code: Code, detail: impl Display) -> Failure {
        Failure::Error(Error::new(code, detail.to_string()))
    }

    pub fn of_status(status: StatusCode, detail: impl Into<String>) -> Failure {
        Failure::Error(Error::of_status(status, detail))
    }

    pub fn internal() -> Failure {
        Failure::Fault(FailureKind::Internal)
    }

    pub fn parameter(name: &str, rule: impl Display) -> Failure {
        Failure::Fault(FailureKind::Parameter { name: name.to_owned(), rule: rule.to_string() })
    }

    /// The error that callers see, in the words of an API.
    pub fn into_error(self, words: impl FnOnce(FailureKind) -> Error) -> Error {
        match self {
            Failure::Error(error) => error,
            Failure::Fault(fault) => words(fault),
        }
    }

    /// The code of an error that a handler made.
    pub fn code(&self) -> Option<Code> {
        match self {
            Failure::Error(error) => error.known(),
            Failure::Fault(_) => None,
        }
    }

    #[must_use]
    pub fn with(self, name: &str, value: impl Into<Value>) -> Failure {
        self.map(|error| error.with(name, value))
    }

    #[must_use]
    pub fn field(self, name: &str) -> Failure {
        self.map(|error| error.field(name))
    }

    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Failure {
        self.map(|error| error.hint(text))
    }

    #[must_use]
    pub fn header(self, name: HeaderName, value: &str) -> Failure {
        self.map(|error| error.header(name, value))
    }

    fn map(self, change: impl FnOnce(Error) -> Error) -> Failure {
        match self {
            Failure::Error(error) => Failure::Error(change(error)),
            fault @ Failure::Fault(_) => fault,
        }
    }
}

/// Without a body: the router writes it, and sets the status.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

impl From<FailureKind> for Failure {
    fn from(fault: FailureKind) -> Failure {
        Failure::Fault(fault)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Fault(FailureKind::Store(error))
    }
}
