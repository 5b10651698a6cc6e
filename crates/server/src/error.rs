//! Errors of the operations API: problem documents, with a stable code.

use std::fmt::Display;
use std::time::Duration;

use api::{Code, Error};
use axum::http::header::{ALLOW, WWW_AUTHENTICATE};
use declared::{SIGNAL_BYTES_MAX, SIGNALS_MAX};
use engine::{AskError, OperationId, Phase, PhaseVerb, SignalError, SubmitError};

use crate::http::{Failure, FailureKind, JsonFault};
use crate::operations::watchers::NoSeat;

const SOON: Duration = Duration::from_secs(1);

/// What any request can meet, in the words of this API.
pub fn fault(fault: FailureKind) -> Error {
    match fault {
        FailureKind::NoSuchPath => fault.usual().hint("/openapi.json lists what there is"),
        FailureKind::MethodNotAllowed { method, allowed } => {
            let detail = format!("{method} is not possible here; possible: {allowed}");
            Error::new(Code::MethodNotAllowed, detail).header(ALLOW, &allowed)
        }
        FailureKind::Parameter { name, rule } => invalid_parameter(&name, rule),
        FailureKind::NotJson { given } => {
            let detail = match given.as_str() {
                "" => "send the header Content-Type: application/json".to_owned(),
                other => format!("the body is {other:?}; send application/json"),
            };
            Error::new(Code::UnsupportedMediaType, detail)
        }
        FailureKind::BodyTooLarge { limit } => fault.usual().with("limit", limit),
        FailureKind::Json(fault) => unreadable(fault),
        FailureKind::NotAnObject => Error::new(Code::InvalidBody, "the body must be an object"),
        FailureKind::Timeout => fault.usual().hint("a change that was asked for may still happen"),
        other => other.usual(),
    }
}

fn invalid_parameter(name: &str, rule: impl Display) -> Error {
    Error::new(Code::InvalidParameter, format!("{name}: {rule}")).with("parameter", name)
}

pub fn parameter(name: &str, rule: impl Display) -> Failure {
    invalid_parameter(name, rule).into()
}

fn unreadable(fault: JsonFault) -> Error {
    let JsonFault { is_json, field, line, column, text, .. } = fault;
    let code = if is_json { Code::InvalidBody } else { Code::MalformedJson };
    let detail = match &field {
        Some(field) if is_json => format!("{field}: {text}"),
        _ => text,
    };
    let mut error = Error::new(code, detail).with("line", line).with("column", column);
    error.field = field;
    error
}

/// `presented` says whether there was a token at all, as RFC 6750 wants it told.
pub fn unauthenticated(detail: &str, presented: bool) -> Failure {
    Failure::new(Code::Unauthenticated, detail).header(WWW_AUTHENTICATE, challenge(presented))
}

pub fn challenge(presented: bool) -> &'static str {
    if presented {
        r#"Bearer realm="provision-engine", error="invalid_token""#
    } else {
        r#"Bearer realm="provision-engine""#
    }
}

pub fn no_such_operation(id: OperationId) -> Failure {
    let detail = format!("there is no operation {id}; finished ones are forgotten after a while");
    Failure::new(Code::OperationNotFound, detail).with("operation", id.to_string())
}

pub fn busy(operation: OperationId) -> Failure {
    let detail = format!("operation {operation} is working on this resource; wait for it, or queue");
    Failure::new(Code::ResourceBusy, detail).with("operation", operation.to_string())
}

fn not_now(id: OperationId, phase: Phase, verb: PhaseVerb) -> Failure {
    let possible = possible(phase);
    let instead = if possible.is_empty() { "nothing".into() } else { possible.join(", ") };
    let detail = format!("the operation is {phase} and cannot be asked to {verb}; possible now: {instead}");
    Failure::new(Code::NotNow, detail)
        .with("operation", id.to_string())
        .with("phase", phase.as_str())
        .with("possible", possible)
}

pub fn too_many_streams(why: NoSeat) -> Failure {
    let detail = match why {
        NoSeat::Server => "no more event streams can be opened now; poll the journal instead".to_owned(),
        NoSeat::Principal { most } => {
            format!(
                "you have {most} event streams open, which is the most; close one, or poll the journal instead"
            )
        }
    };
    Error::new(Code::TooManyStreams, detail).retry_after(SOON).into()
}

pub fn not_ready(why: impl Display) -> Failure {
    Error::new(Code::NotReady, why.to_string()).retry_after(SOON).into()
}

pub fn ask(error: AskError, id: OperationId) -> Failure {
    match error {
        AskError::NotFound => no_such_operation(id),
        AskError::NotNow { phase, verb } => not_now(id, phase, verb),
        AskError::Busy { operation } => busy(operation),
        AskError::Store(error) => error.into(),
    }
}

/// What an operator may ask of an operation in this phase.
pub fn possible(phase: Phase) -> Vec<&'static str> {
    let verbs = [PhaseVerb::Cancel, PhaseVerb::Pause, PhaseVerb::Resume, PhaseVerb::Retry];
    verbs.into_iter().filter(|verb| phase.allows(*verb)).map(PhaseVerb::as_str).collect()
}

pub fn submit(error: SubmitError) -> Failure {
    match error {
        SubmitError::UnknownWorkflow { .. } => Failure::new(Code::UnknownWorkflow, error),
        SubmitError::Invalid(why) => Failure::new(Code::InvalidCommand, why),
        SubmitError::Busy { operation } => busy(operation),
        SubmitError::KeyReused => Failure::new(
            Code::IdempotencyKeyReused,
            "this key belongs to another request with other content; use a new key",
        ),
        SubmitError::Changed => Failure::new(
            Code::ResourceChanged,
            "others change this resource all the time; look at it and try again",
        ),
        SubmitError::Store(error) => error.into(),
    }
}

pub fn signal(error: SignalError) -> Failure {
    let (signals, bytes) = match error {
        SignalError::Submit(error) => return submit(error),
        SignalError::TooMany { signals, bytes } => (signals, bytes),
    };
    let message = format!(
        "{signals} signals with {bytes} bytes are unread by this operation, which may have {SIGNALS_MAX} with \
         {SIGNAL_BYTES_MAX} bytes: signal a key that a step waits for, use a key again, or send less in each"
    );
    Failure::new(Code::TooManySignals, message)
}

#[cfg(test)]
mod tests {
    use api::{Format as _, Problem};
    use engine::store::StoreError;

    use super::*;

    #[test]
    fn what_the_database_said_is_not_in_the_answer() {
        for error in [StoreError::Refused, StoreError::Unavailable, StoreError::Full] {
            let mut error = fault(FailureKind::Store(error("relation \"operations\" has secrets".into())));
            error.request_id = Some("r1".into());
            let text = String::from_utf8(Problem.write(&error)).unwrap();
            assert!(!text.contains("relation"), "{text}");
            assert!(text.contains(r#""instance":"r1""#), "{text}");
        }
    }

    #[test]
    fn a_phase_says_what_is_possible_instead() {
        assert_eq!(possible(Phase::Succeeded), Vec::<&str>::new());
        assert_eq!(possible(Phase::Stuck), ["cancel", "resume", "retry"]);
    }
}
