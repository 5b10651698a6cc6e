//! `Error`: why a request was not done, in every API. A [`Format`](crate::Format) writes it and reads it.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Code;

/// Retry-After has whole seconds, and zero would mean at once.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);

/// An error of an API. It is shown to callers, so it holds nothing secret and nothing internal.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<Parts>);

/// What an [`Error`] consists of. No format has a place for everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    pub status: StatusCode,
    /// Permanent name for programs; empty where the API has none. [`Error::known`] finds it in the table.
    pub code: Cow<'static, str>,
    /// The same sentence for every error of this kind.
    pub title: Cow<'static, str>,
    /// What is wrong this time.
    pub detail: String,
    /// The detail is JSON and not text: [`Cognit`](crate::Cognit) passes on what `OpenNebula` answered.
    pub detail_is_json: bool,
    /// What in the request is wrong.
    pub field: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Everything that is wrong, where that is more than one field.
    pub fields: Vec<FieldError>,
    /// More members for programs, such as `operation` or `phase`.
    pub more: Map<String, Value>,
    /// The id under which the server's log has the request.
    pub request_id: Option<String>,
    pub retry_after: Option<Duration>,
    pub headers: HeaderMap,
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Flaw)]
pub struct FieldError {
    pub field: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), message: message.into(), hint: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> FieldError {
        self.hint = Some(hint.into());
        self
    }
}

impl Error {
    /// With the status and the title of the code.
    pub fn new(code: Code, detail: impl Into<String>) -> Error {
        let mut error = Error::of_status(code.status(), detail);
        error.code = code.as_str().into();
        error.title = code.title().into();
        error
    }

    /// Without a code, for formats that have none.
    pub fn of_status(status: StatusCode, detail: impl Into<String>) -> Error {
        Error(Box::new(Parts {
            status,
            code: Cow::Borrowed(""),
            title: Cow::Borrowed(""),
            detail: detail.into(),
            detail_is_json: false,
            field: None,
            hint: None,
            fields: Vec::new(),
            more: Map::new(),
            request_id: None,
            retry_after: None,
            headers: HeaderMap::new(),
        }))
    }

    /// The code, if this release knows it.
    pub fn known(&self) -> Option<Code> {
        Code::named(&self.code)
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Error {
        self.status = status;
        self
    }

    #[must_use]
    pub fn field(mut self, name: impl Into<String>) -> Error {
        self.field = Some(name.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Error {
        self.hint = Some(text.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Error {
        self.retry_after = Some(pause);
        self
    }

    /// Adds a member that a program can read without taking the detail apart.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Error {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A value that no header can have is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Error {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// What is wrong, and what to do about it.
    pub fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.detail),
            None => self.detail.clone(),
        }
    }

    /// All headers of the answer but those of its body.
    pub fn answer_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(pause) = self.retry_after {
            let seconds = pause.max(RETRY_AFTER_MIN).as_millis().div_ceil(1000);
            headers
                .extend(HeaderValue::from_str(&seconds.to_string()).ok().map(|value| (RETRY_AFTER, value)));
        }
        headers
    }
}

impl Deref for Error {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.detail.is_empty() { &self.title } else { &self.detail })
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_becomes_whole_seconds() {
        for (pause, seconds) in [(0, 1), (400, 1), (1000, 1), (1001, 2), (59_999, 60)] {
            let error = Error::new(Code::Internal, "").retry_after(Duration::from_millis(pause));
            assert_eq!(error.answer_headers()[RETRY_AFTER], seconds.to_string(), "{pause}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_left_out() {
        let error = Error::new(Code::NotFound, "").header(http::header::ALLOW, "GET\nPOST");
        assert!(error.answer_headers().is_empty());
    }
}
