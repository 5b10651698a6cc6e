//! What this door says: JSON without a charset, and one form for everything that is refused.

use axum::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::store::StoreError;
use engine::{OperationId, Role};
use serde::Serialize;
use tracing::error;
use workflows::serverless::json::Json;
use workflows::serverless::refusal::Refusal;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What the log says about an answer; it travels with the response to where the log is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) body: String,
    /// What was done with the runtime, in one word.
    pub(super) deed: Option<&'static str>,
}

/// An answer on its way out.
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    told: Told,
}

impl Answer {
    /// Members come in the order of the type.
    pub(super) fn new(status: StatusCode, body: &impl Serialize) -> Result<Answer, Refused> {
        let body = serde_json::to_string(body).map_err(|error| broken(&error.to_string()))?;
        Ok(Answer::of(status, body))
    }

    /// A body that is JSON already.
    pub(super) fn of(status: StatusCode, body: String) -> Answer {
        Answer {
            status,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, JSON)]),
            told: Told { body, deed: None },
        }
    }

    pub(super) fn ok(body: &impl Serialize) -> Result<Answer, Refused> {
        Answer::new(StatusCode::OK, body)
    }

    /// 204: no body, and no type of one.
    pub(super) fn nothing() -> Answer {
        Answer { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), told: Told::default() }
    }

    pub(super) fn deed(mut self, deed: &'static str) -> Answer {
        self.told.deed = Some(deed);
        self
    }

    pub(super) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(super) fn location(&self) -> Option<String> {
        self.headers.get(LOCATION).and_then(|path| path.to_str().ok()).map(str::to_owned)
    }

    /// At the path of what was made.
    pub(super) fn at(mut self, path: &str) -> Answer {
        self.headers.extend(HeaderValue::from_str(path).ok().map(|path| (LOCATION, path)));
        self
    }

    /// As the caller asked for, it does not wait.
    pub(super) fn not_waiting(mut self) -> Answer {
        self.headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static("respond-async"));
        self
    }

    /// The same key was used before.
    pub(super) fn replayed(mut self, replayed: bool) -> Answer {
        if replayed {
            self.headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
        }
        self
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.headers, self.told.body.clone()).into_response();
        if self.status == StatusCode::NO_CONTENT {
            response.headers_mut().remove(CONTENT_TYPE);
        }
        response.extensions_mut().insert(self.told);
        response
    }
}

/// Why something is not done. Its texts never repeat an `Authorization`.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    refusal: Box<Refusal>,
    /// Whether an operation was accepted, whose end the caller does not hear of.
    accepted: bool,
}

/// Goes with a refusal to where the audit log is written: an operation was accepted all the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptedAnyway;

impl Refused {
    fn accepted(status: StatusCode, error: impl Into<String>, message: impl Into<Json>) -> Refused {
        Refused { accepted: true, ..Refused::new(status, error, message) }
    }

    pub(super) fn new(status: StatusCode, error: impl Into<String>, message: impl Into<Json>) -> Refused {
        Refusal::new(status.as_u16(), error, message).into()
    }

    pub(super) fn authentication_required() -> Refused {
        Refused::new(StatusCode::UNAUTHORIZED, "Authentication required", "")
    }

    pub(super) fn unsupported_scheme() -> Refused {
        let hint = "send the header Authorization: Basic with base64 of user:password, neither of them empty";
        Refused::new(StatusCode::UNAUTHORIZED, "Unsupported authentication scheme", hint)
    }

    pub(super) fn role(needed: Role, has: Option<Role>) -> Refused {
        let has = has.map_or("none", Role::as_str);
        let hint = format!("this needs the role {needed}, and yours is {has}");
        Refused::new(StatusCode::FORBIDDEN, "Not allowed", hint)
    }

    pub(super) fn no_steward() -> Refused {
        let hint = "name an account of OpenNebula in the setting serverless.steward_one_auth";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, "The console has no account in OpenNebula", hint)
    }

    pub(super) fn no_such_runtime() -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "Serverless Runtime not found", "")
    }

    pub(super) fn no_such_operation() -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "Operation not found", "")
    }

    pub(super) fn no_such_path() -> Refused {
        let hint = "there is nothing at this path; runtimes are at /serverless-runtimes";
        Refused::new(StatusCode::NOT_FOUND, "Not found", hint)
    }

    pub(super) fn method_not_allowed() -> Refused {
        let hint = "this path does not take this method; the header Allow says which it takes";
        Refused::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", hint)
    }

    pub(super) fn cut_off() -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, "Invalid JSON", "the body could not be read to its end")
    }

    /// A part of the query or a header.
    pub(super) fn invalid_parameter(name: &str, rule: &str) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, "Invalid parameter", format!("{name}: {rule}"))
    }

    pub(super) fn slow_body() -> Refused {
        Refused::new(StatusCode::REQUEST_TIMEOUT, "Request timeout", "the body did not arrive in time")
    }

    pub(super) fn too_large(limit: usize) -> Refused {
        let text = format!("the body is larger than {limit} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "Request body too large", text)
    }

    pub(super) fn key_reused() -> Refused {
        let text = "this Idempotency-Key was used for another request; use a new key for a new runtime";
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "Idempotency-Key reused", text)
    }

    /// Somebody else has the runtime.
    pub(super) fn locked(error: &str, doing: String) -> Refused {
        Refused::new(StatusCode::LOCKED, error, doing)
    }

    pub(super) fn busy(doing: String) -> Refused {
        Refused::locked("Cannot update Serverless Runtime Function VM FAAS on a transient state", doing)
    }

    /// It goes on by itself, and this is where.
    pub(super) fn takes_long(error: &str, operation: OperationId) -> Refused {
        let text = format!("it takes longer than expected and goes on; look at {}", path_of(operation));
        Refused::accepted(StatusCode::GATEWAY_TIMEOUT, error, text)
    }

    /// It is taken back, and this is where that can be watched.
    pub(super) fn taken_back(error: &str, operation: OperationId) -> Refused {
        let text = format!("it took too long and is taken back; look at {}", path_of(operation));
        Refused::accepted(StatusCode::GATEWAY_TIMEOUT, error, text)
    }

    /// It failed, and what it did is being undone.
    pub(super) fn being_undone(error: &str, cause: &Refused, operation: OperationId) -> Refused {
        let Refusal { error: failed, message, .. } = cause.refusal();
        let why = match message.as_str() {
            Some("") => failed.clone(),
            Some(message) => format!("{failed}: {message}"),
            None => format!("{failed}: {message}"),
        };
        let text = format!("it failed and is being undone: {why}; look at {}", path_of(operation));
        Refused::accepted(StatusCode::GATEWAY_TIMEOUT, error, text)
    }

    pub(super) fn timeout() -> Refused {
        let text = "the request was not answered in time; what was asked for may still happen";
        Refused::new(StatusCode::GATEWAY_TIMEOUT, "Gateway timeout", text)
    }

    pub(super) fn stopping(operation: OperationId) -> Refused {
        let text = format!("the engine is stopping; it goes on later, look at {}", path_of(operation));
        Refused::accepted(StatusCode::SERVICE_UNAVAILABLE, "Service unavailable", text)
    }

    /// Never says what broke: that is in the log, under the request id.
    pub(super) fn internal() -> Refused {
        let text = "something broke while the request was handled; the log has the request id";
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", text)
    }

    pub(super) fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

/// The path under which an operation can be watched.
pub(super) fn path_of(operation: OperationId) -> String {
    format!("/serverless-runtimes/operations/{operation}")
}

/// Something of ours is not as it must be.
pub(super) fn broken(why: &str) -> Refused {
    error!(why, "the serverless door cannot go on");
    Refused::internal()
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.refusal.status).ok().filter(|status| status.as_u16() >= 400);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Answer::of(status, self.refusal.body()).into_response();
        if self.accepted {
            response.extensions_mut().insert(AcceptedAnyway);
        }
        let header = match status.as_u16() {
            401 => Some((WWW_AUTHENTICATE, HeaderValue::from_static(r#"Basic realm="provision-engine""#))),
            423 => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            503 | 504 => Some((RETRY_AFTER, HeaderValue::from_static("5"))),
            _ => None,
        };
        response.headers_mut().extend(header);
        response
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal: Box::new(refusal), accepted: false }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        error!(%error, "the database did not do what the serverless door asked");
        let unavailable =
            |text: &str| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "Service unavailable", text);
        match error {
            StoreError::Unavailable(_) => unavailable("the database is not answering; try again in a moment"),
            StoreError::Full(_) => unavailable("the database has no room left; an operator must make some"),
            StoreError::Fenced | StoreError::Refused(_) => Refused::internal(),
        }
    }
}
