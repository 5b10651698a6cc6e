//! Errors of a call.

use std::fmt;

use http::StatusCode;

use super::{API_VERSION, Api, Client};
use crate::{Cognit, Error, Format as _, Insights, Osb, Problem};

/// The longest text of an error that is kept.
const TEXT_CHARS_MAX: usize = 2_000;

/// How an API writes its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    Problem,
    Osb,
    Insights,
    Cognit,
}

impl ErrorFormat {
    /// Nothing for a body of another form. A broker may answer anything: the status is enough.
    pub fn read(self, status: StatusCode, body: &[u8]) -> Option<Error> {
        match self {
            ErrorFormat::Problem => Problem.read(status, body),
            ErrorFormat::Osb => Some(Osb.read(status, body).unwrap_or_else(|| Error::of_status(status, ""))),
            ErrorFormat::Insights => Insights::default().read(status, body),
            ErrorFormat::Cognit => Cognit.read(status, body),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nothing was asked: nothing listens there.
    #[error("cannot reach {server}: {cause}")]
    Unreachable { server: String, cause: String, api: &'static Api },
    /// It may have been done or not.
    #[error("the answer of {server} was lost: {cause}")]
    Lost { server: String, cause: String, api: &'static Api },
    #[error("{0}")]
    Refused(Box<ErrorResponse>),
    #[error("{server} gave {what}; {question}")]
    Unexpected { server: String, what: String, question: &'static str },
    #[error("{0}")]
    Unusable(String),
}

/// What the server answered, and what it was shown.
#[derive(Debug)]
pub struct ErrorResponse {
    pub error: Error,
    pub format: ErrorFormat,
    pub proof: Proof,
    /// The version of the Open Service Broker API that was asked for.
    pub api_version: Option<String>,
    /// The operation was accepted and failed later.
    pub has_begun: bool,
}

/// What the server was shown as a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    None,
    Token,
    Password,
}

impl CallError {
    /// The error with which an accepted operation failed.
    pub fn failed(format: ErrorFormat, error: Error) -> CallError {
        let proof = Proof::None;
        CallError::Refused(Box::new(ErrorResponse {
            error,
            format,
            proof,
            api_version: None,
            has_begun: true,
        }))
    }

    pub fn status(&self) -> Option<u16> {
        match self {
            CallError::Refused(error_response) => Some(error_response.error.status.as_u16()),
            _ => None,
        }
    }

    /// The server knows nothing of it: it never was, or is no more.
    pub fn is_absent(&self) -> bool {
        matches!(self.status(), Some(404 | 410))
    }

    /// Whether the same call may have a good answer a moment later.
    pub fn may_heal(&self) -> bool {
        match self {
            CallError::Unreachable { .. } | CallError::Lost { .. } => true,
            CallError::Refused(error_response) if error_response.has_begun => false,
            CallError::Refused(error_response) => match error_response.error.status.as_u16() {
                408 | 429 | 502..=504 => true,
                // Brokers of others answer so in every kind of trouble.
                500..=599 => error_response.format == ErrorFormat::Osb,
                _ => false,
            },
            CallError::Unexpected { .. } | CallError::Unusable(_) => false,
        }
    }
}

impl Client {
    pub(super) fn refused(&self, status: StatusCode, body: &[u8]) -> CallError {
        let format = self.api.format;
        let error =
            format.read(status, body).filter(|_| status.is_client_error() || status.is_server_error());
        match error {
            Some(error) => {
                let version = self.headers.get(API_VERSION).and_then(|version| version.to_str().ok());
                CallError::Refused(Box::new(ErrorResponse {
                    error,
                    format,
                    proof: self.proof(),
                    api_version: version.map(str::to_owned),
                    has_begun: false,
                }))
            }
            // A proxy on the way answers in its own words; what it means is in the status.
            None if status.is_server_error() => {
                CallError::Lost { server: self.name(), cause: format!("status {status}"), api: self.api }
            }
            None => self.unexpected(format!("status {status}")),
        }
    }
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorResponse { error, format, .. } = self;
        let parts = match format {
            ErrorFormat::Problem => [error.title.as_ref(), ""],
            ErrorFormat::Osb => [error.code.as_ref(), &error.detail],
            ErrorFormat::Insights => [error.detail.as_str(), ""],
            ErrorFormat::Cognit => [error.title.as_ref(), &error.detail],
        };
        let parts: Vec<String> =
            parts.into_iter().map(brief).filter(|text| !text.trim().is_empty()).collect();
        if parts.is_empty() {
            let server = if *format == ErrorFormat::Osb { "broker" } else { "server" };
            return write!(f, "the {server} answered {} and did not say why", error.status);
        }
        f.write_str(&parts.join(": "))
    }
}

/// The text on one line. What comes from outside must not be able to control the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The same, and not longer than people read.
pub fn brief(text: &str) -> String {
    printable(text).chars().take(TEXT_CHARS_MAX).collect()
}

/// The client's errors say what happened only in their sources.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let words = error.to_string();
        // The outermost words repeat the URL, which is in the message already.
        if !words.starts_with("error sending request") {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&words);
        }
        next = error.source();
    }
    text
}
