//! Why something is not done, in the form that clients of the hosted service know. `msg` says what is wrong and what to
//! do, `error` says what is wrong, and neither says what is inside.

use std::time::Duration;

use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::store::StoreError;
use tracing::error;
use workflows::launch::rejection::{Flaw, Rejection};

use super::BASE;

/// Who is told to come back is not told a fraction of a second.
const SOON: Duration = Duration::from_secs(1);

/// A refusal on its way out. The layer around all handlers writes its body.
#[derive(Debug, Clone)]
pub(super) struct Refused(Box<Inner>);

#[derive(Debug, Clone)]
pub(super) struct Inner {
    pub(super) status: StatusCode,
    /// Programs compare it.
    pub(super) code: &'static str,
    /// For people: what is wrong.
    pub(super) cause: String,
    /// What in the request is wrong.
    pub(super) field: Option<String>,
    /// What can be done about it.
    pub(super) hint: Option<String>,
    /// Everything that is wrong, where that is more than one thing.
    pub(super) flaws: Vec<Flaw>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refused {
    pub(super) fn new(status: StatusCode, code: &'static str, cause: impl Into<String>) -> Refused {
        let cause = cause.into();
        let (flaws, headers) = (Vec::new(), Vec::new());
        Refused(Box::new(Inner { status, code, cause, field: None, hint: None, flaws, headers }))
    }

    pub(super) fn field(mut self, name: impl Into<String>) -> Refused {
        self.0.field = Some(name.into());
        self
    }

    pub(super) fn hint(mut self, text: impl Into<String>) -> Refused {
        self.0.hint = Some(text.into());
        self
    }

    fn header(mut self, name: HeaderName, value: &str) -> Refused {
        self.0.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    fn after(self, pause: Duration) -> Refused {
        let seconds = pause.max(SOON).as_millis().div_ceil(1000);
        self.header(RETRY_AFTER, &seconds.to_string())
    }

    /// A part of the query, of the path or of the body.
    pub(super) fn invalid(name: &str, rule: impl std::fmt::Display) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, "invalid_parameter", format!("{name}: {rule}")).field(name)
    }

    /// `presented` says whether there was a token at all, as RFC 6750 wants it told.
    pub(super) fn unauthenticated(cause: &str, presented: bool) -> Refused {
        let challenge = if presented {
            r#"Bearer realm="provision-engine", error="invalid_token""#
        } else {
            r#"Bearer realm="provision-engine""#
        };
        Refused::new(StatusCode::UNAUTHORIZED, "unauthenticated", cause)
            .header(WWW_AUTHENTICATE, challenge)
            .hint("send the header Authorization: Bearer with a token; X-Rh-Identity counts from trusted proxies only")
    }

    pub(super) fn forbidden(cause: impl Into<String>) -> Refused {
        Refused::new(StatusCode::FORBIDDEN, "forbidden", cause)
    }

    pub(super) fn denied(permission: &str) -> Refused {
        Refused::forbidden(format!("this needs the permission {permission}"))
            .hint("an administrator of the organisation can grant it")
    }

    pub(super) fn not_found(what: &str) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    pub(super) fn no_such_path() -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path")
            .hint(format!("{BASE}/openapi.json lists what there is"))
    }

    pub(super) fn method_not_allowed(allowed: &str) -> Refused {
        let cause = format!("this path does not take this method; it takes {allowed}");
        Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", cause).header(ALLOW, allowed)
    }

    pub(super) fn too_large(limit: usize) -> Refused {
        let cause = format!("the body is larger than {limit} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", cause)
    }

    pub(super) fn slow_body() -> Refused {
        Refused::new(StatusCode::REQUEST_TIMEOUT, "slow_body", "the body did not arrive in time")
    }

    pub(super) fn not_json() -> Refused {
        let cause = "the body is not sent as JSON; send the header Content-Type: application/json";
        Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", cause)
    }

    /// Something that is asked for every request does not answer.
    pub(super) fn unavailable(cause: impl Into<String>) -> Refused {
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", cause).after(SOON)
    }

    pub(super) fn timeout() -> Refused {
        let cause = "the request was not answered in time; a change that was asked for may still happen";
        Refused::new(StatusCode::GATEWAY_TIMEOUT, "timeout", cause)
    }

    /// Never says what broke: that is in the log, under the request id.
    pub(super) fn internal() -> Refused {
        let cause = "something broke while the request was handled";
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", cause)
            .hint("the log has the id that is here as trace_id")
    }

    pub(super) fn code(&self) -> &'static str {
        self.0.code
    }

    pub(super) fn into_inner(self) -> Inner {
        *self.0
    }
}

impl Inner {
    /// What is wrong, and what can be done about it.
    pub(super) fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.cause),
            None => self.cause.clone(),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.headers_mut().extend(self.0.headers.clone());
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Refused {
        let Rejection { status, code, message, field, hint, retry_after, flaws } = rejection;
        let status = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 400);
        let mut refused = Refused::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), code, message);
        (refused.0.field, refused.0.hint, refused.0.flaws) = (field, hint, flaws);
        match retry_after {
            Some(pause) => refused.after(pause),
            None if [429, 503].contains(&refused.0.status.as_u16()) => refused.after(SOON),
            None => refused,
        }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        error!(%error, "the database did not do what the launch door asked");
        match error {
            StoreError::Unavailable(_) => Refused::unavailable("the database is not answering"),
            StoreError::Full(_) => {
                Refused::unavailable("the database has no room left").hint("an operator must make some")
            }
            StoreError::Fenced | StoreError::Refused(_) => Refused::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_to_come_back_is_told_whole_seconds() {
        for (pause, seconds) in [(0, "1"), (400, "1"), (1000, "1"), (1001, "2"), (59_999, "60")] {
            let inner = Refused::internal().after(Duration::from_millis(pause)).into_inner();
            assert_eq!(inner.headers, [(RETRY_AFTER, HeaderValue::from_static(seconds))]);
        }
    }

    #[test]
    fn a_database_in_trouble_is_not_described() {
        let inner = Refused::from(StoreError::Refused("relation t_42".into())).into_inner();
        assert_eq!(inner.status, 500);
        assert!(!inner.cause.contains("t_42"), "{}", inner.cause);
        let inner = Refused::from(StoreError::Unavailable("10.0.0.5:5432".into())).into_inner();
        assert_eq!(inner.status, 503);
        assert!(!inner.cause.contains("10.0.0.5"), "{}", inner.cause);
    }
}
