//! Flash messages: one sentence that the next page shows.

use std::time::Duration;

use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::cookie;

const LIVES: Duration = Duration::from_secs(60);
const CHARS_MAX: usize = 400;

/// A message that the next page shows once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    pub(crate) is_good: bool,
    /// It holds only until the page shows an end.
    pub(crate) is_passing: bool,
    pub(crate) text: String,
}

impl Flash {
    /// Says that it worked.
    pub fn good(text: impl Into<String>) -> Flash {
        Flash { is_good: true, is_passing: false, text: text.into() }
    }

    /// Says that it did not work.
    pub fn bad(text: impl Into<String>) -> Flash {
        Flash { is_good: false, is_passing: false, text: text.into() }
    }

    /// Something runs now: the message goes away when the page shows its end.
    #[must_use]
    pub fn while_running(self) -> Flash {
        Flash { is_passing: true, ..self }
    }

    pub(crate) fn read(headers: &HeaderMap) -> Option<Flash> {
        let bytes = URL_SAFE_NO_PAD.decode(cookie::read(headers, cookie::FLASH)?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (kind, text) = text.split_at_checked(1)?;
        Some(Flash { is_good: kind != "-", is_passing: kind == "~", text: text.to_owned() })
    }

    fn cookie(&self) -> HeaderValue {
        let sign = match (self.is_good, self.is_passing) {
            (true, true) => '~',
            (true, false) => '+',
            (false, _) => '-',
        };
        let text: String = self.text.chars().take(CHARS_MAX).collect();
        cookie::write(cookie::FLASH, &URL_SAFE_NO_PAD.encode(format!("{sign}{text}")), Some(LIVES), false)
    }

    /// Leads to another page, which says it.
    pub fn at(self, path: &str) -> Response {
        let mut response = see_other(path);
        response.headers_mut().append(SET_COOKIE, self.cookie());
        response
    }
}

/// Leads to another page of ours.
pub fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}
