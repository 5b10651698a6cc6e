//! What a door answers when it cannot do what was asked: RFC 9457, with a stable code.

use std::fmt::Display;

use api::Code;
use axum::Json;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use engine::store::StoreError;
use engine::{AskError, OperationId, Phase, SubmitError, Verb};
use serde_json::Value;
use tracing::error;

use crate::wire;

pub(crate) const CONTENT: &str = "application/problem+json";

/// A refusal on its way out.
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Refusal>);

#[derive(Debug, Clone)]
struct Refusal {
    code: Code,
    detail: String,
    fields: serde_json::Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Display) -> Problem {
        Problem(Box::new(Refusal {
            code,
            detail: detail.to_string(),
            fields: serde_json::Map::new(),
            headers: Vec::new(),
        }))
    }

    /// Adds something that a program can read without taking the detail apart.
    #[must_use]
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Problem {
        self.0.fields.insert(field.to_owned(), value.into());
        self
    }

    fn header(mut self, name: HeaderName, value: &str) -> Problem {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers.push((name, value));
        }
        self
    }

    fn after_a_second(self) -> Problem {
        self.header(RETRY_AFTER, "1")
    }

    pub(crate) fn code(&self) -> Code {
        self.0.code
    }

    pub(crate) fn parameter(name: &str, detail: impl Display) -> Problem {
        Problem::new(Code::InvalidParameter, format!("{name}: {detail}")).with("parameter", name)
    }

    /// `presented` says whether there was a token at all, as RFC 6750 wants it told.
    pub(crate) fn unauthenticated(detail: &str, presented: bool) -> Problem {
        let challenge = if presented {
            r#"Bearer realm="provision-engine", error="invalid_token""#
        } else {
            r#"Bearer realm="provision-engine""#
        };
        Problem::new(Code::Unauthenticated, detail).header(WWW_AUTHENTICATE, challenge)
    }

    pub(crate) fn method_not_allowed(method: &str, allowed: &str) -> Problem {
        Problem::new(Code::MethodNotAllowed, format!("{method} is not possible here; possible: {allowed}"))
            .header(ALLOW, allowed)
    }

    pub(crate) fn no_such_path() -> Problem {
        Problem::new(Code::NotFound, "there is nothing at this path; /openapi.json lists what there is")
    }

    pub(crate) fn no_such_operation(id: OperationId) -> Problem {
        let detail = format!("there is no operation {id}; finished ones are forgotten after a while");
        Problem::new(Code::OperationNotFound, detail).with("operation", id.to_string())
    }

    pub(crate) fn busy(operation: OperationId) -> Problem {
        let detail = format!("operation {operation} is working on this resource; wait for it, or queue");
        Problem::new(Code::ResourceBusy, detail).with("operation", operation.to_string())
    }

    pub(crate) fn not_now(id: OperationId, phase: Phase, verb: Verb) -> Problem {
        let possible = possible(phase);
        let instead = if possible.is_empty() { "nothing".into() } else { possible.join(", ") };
        let detail =
            format!("the operation is {phase} and cannot be asked to {verb}; possible now: {instead}");
        Problem::new(Code::NotNow, detail)
            .with("operation", id.to_string())
            .with("phase", phase.as_str())
            .with("possible", possible)
    }

    pub(crate) fn too_many_streams() -> Problem {
        Problem::new(
            Code::TooManyStreams,
            "no more event streams can be opened now; poll the journal instead",
        )
        .after_a_second()
    }

    pub(crate) fn not_ready(why: impl Display) -> Problem {
        Problem::new(Code::NotReady, why).after_a_second()
    }

    pub(crate) fn timeout() -> Problem {
        Problem::new(
            Code::Timeout,
            "the request was not answered in time; a change that was asked for may still happen",
        )
    }

    /// Never says what broke: that is in the log, under the request id.
    pub(crate) fn internal() -> Problem {
        Problem::new(
            Code::Internal,
            "something broke while the request was handled; the log has the request id",
        )
    }

    pub(crate) fn ask(error: AskError, id: OperationId) -> Problem {
        match error {
            AskError::NotFound => Problem::no_such_operation(id),
            AskError::NotNow { phase, verb } => Problem::not_now(id, phase, verb),
            AskError::Busy { operation } => Problem::busy(operation),
            AskError::Store(error) => error.into(),
        }
    }

    pub(crate) fn to_wire(&self, instance: Option<&str>) -> wire::Problem {
        let code = self.0.code;
        wire::Problem {
            kind: format!("/errors/{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status().as_u16(),
            detail: self.0.detail.clone(),
            code: code.as_str().to_owned(),
            instance: instance.map(str::to_owned),
            fields: self.0.fields.clone(),
        }
    }

    /// The answer, with the request id as the instance once that is known.
    pub(crate) fn respond(&self, instance: Option<&str>) -> Response {
        let mut response = (self.0.code.status(), Json(self.to_wire(instance))).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT));
        headers.extend(self.0.headers.iter().cloned());
        response
    }
}

/// What an operator may ask of an operation in this phase.
pub(crate) fn possible(phase: Phase) -> Vec<&'static str> {
    let verbs = [Verb::Cancel, Verb::Pause, Verb::Resume, Verb::Retry];
    verbs.into_iter().filter(|verb| phase.allows(*verb)).map(Verb::as_str).collect()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.respond(None);
        // The outermost layer knows the request id and writes the body anew with it.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::Unavailable(_) => {
                error!(%error, "the database did not answer a door");
                Problem::new(
                    Code::DatabaseUnavailable,
                    "the database is not answering; try again in a moment",
                )
                .after_a_second()
            }
            StoreError::Full(_) => {
                error!(%error, "the database took nothing from a door");
                Problem::new(Code::DatabaseFull, "the database has no room left; an operator must make some")
                    .after_a_second()
            }
            StoreError::Fenced | StoreError::Refused(_) => {
                error!(%error, "the database refused what a door asked");
                Problem::internal()
            }
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Problem {
        match error {
            SubmitError::UnknownWorkflow { .. } => Problem::new(Code::UnknownWorkflow, error),
            SubmitError::Invalid(why) => Problem::new(Code::InvalidCommand, why),
            SubmitError::Busy { operation } => Problem::busy(operation),
            SubmitError::KeyReused => Problem::new(
                Code::IdempotencyKeyReused,
                "this key belongs to another request with other content; use a new key",
            ),
            SubmitError::Changed => Problem::new(
                Code::ResourceChanged,
                "others change this resource all the time; look at it and try again",
            ),
            SubmitError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_database_never_leaves_the_house() {
        let problem = Problem::from(StoreError::Refused("relation \"operations\" has secrets".into()));
        let text = serde_json::to_string(&problem.to_wire(Some("r1"))).unwrap();
        assert!(!text.contains("relation"), "{text}");
        assert!(text.contains(r#""instance":"r1""#), "{text}");
    }

    #[test]
    fn a_phase_says_what_is_possible_instead() {
        assert_eq!(possible(Phase::Succeeded), Vec::<&str>::new());
        assert_eq!(possible(Phase::Stuck), ["cancel", "resume", "retry"]);
    }
}
