//! What the broker answers when it cannot do what was asked, in the words of the specification.

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::store::StoreError;
use tracing::error;

use super::wire;

/// A refusal on its way out. Its text never repeats a value that a client sent.
#[derive(Debug, Clone)]
pub(super) struct Refusal(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    status: StatusCode,
    body: wire::Error,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    fn new(status: StatusCode, description: impl Into<String>) -> Refusal {
        let body = wire::Error { description: description.into(), ..wire::Error::default() };
        Refusal(Box::new(Inner { status, body, header: None }))
    }

    fn code(mut self, code: &str) -> Refusal {
        self.0.body.error = Some(code.to_owned());
        self
    }

    fn header(mut self, name: HeaderName, value: &'static str) -> Refusal {
        self.0.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    pub(super) fn bad(description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, description)
    }

    /// Without good credentials nobody learns more than this.
    pub(super) fn unauthenticated() -> Refusal {
        let text = "the credentials are not good; send the name of a token as the user and the token as the password";
        Refusal::new(StatusCode::UNAUTHORIZED, text)
            .header(WWW_AUTHENTICATE, r#"Basic realm="provision-engine""#)
    }

    pub(super) fn forbidden() -> Refusal {
        let text = "this needs a token with the role broker or admin";
        Refusal::new(StatusCode::FORBIDDEN, text)
    }

    pub(super) fn version(status: StatusCode, text: &str) -> Refusal {
        Refusal::new(status, text)
    }

    pub(super) fn not_found(description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, description)
    }

    pub(super) fn method_not_allowed() -> Refusal {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
    }

    pub(super) fn slow_body() -> Refusal {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
    }

    pub(super) fn too_large(limit: usize) -> Refusal {
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes"))
    }

    pub(super) fn conflict(description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::CONFLICT, description)
    }

    pub(super) fn gone(description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::GONE, description)
    }

    pub(super) fn unprocessable(description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, description)
    }

    /// Clients compare the description too, word by word.
    pub(super) fn async_required() -> Refusal {
        let text = "This service plan requires client support for asynchronous service operations.";
        Refusal::unprocessable(text).code("AsyncRequired")
    }

    /// Clients compare the description too, word by word.
    pub(super) fn busy() -> Refusal {
        let text = "The Service Broker does not support concurrent requests that mutate the same resource.";
        Refusal::unprocessable(text).code("ConcurrencyError")
    }

    pub(super) fn maintenance(description: &str) -> Refusal {
        Refusal::unprocessable(description).code("MaintenanceInfoConflict")
    }

    pub(super) fn not_bindable() -> Refusal {
        Refusal::unprocessable("this plan offers no bindings").code("BindingNotSupported")
    }

    pub(super) fn unavailable(description: &str) -> Refusal {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, description).header(RETRY_AFTER, "1")
    }

    pub(super) fn timeout() -> Refusal {
        let text = "the request was not answered in time; what was asked for may still happen";
        Refusal::new(StatusCode::GATEWAY_TIMEOUT, text)
    }

    /// Never says what broke: that is in the log, under the request id.
    pub(super) fn internal() -> Refusal {
        let text = "something broke while the request was handled; the log has the request id";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Inner { status, body, header } = *self.0;
        let mut response = (status, Json(body)).into_response();
        response.headers_mut().extend(header);
        response
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        error!(%error, "the database did not do what the broker asked");
        match error {
            StoreError::Unavailable(_) => {
                Refusal::unavailable("the database is not answering; try again in a moment")
            }
            StoreError::Full(_) => {
                Refusal::unavailable("the database has no room left; an operator must make some")
            }
            StoreError::Fenced | StoreError::Refused(_) => Refusal::internal(),
        }
    }
}
