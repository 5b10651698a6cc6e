//! Errors of this API: what is wrong, what to do about it, and a code.

use std::fmt::Display;
use std::time::Duration;

use api::{Code, Error};
use axum::http::header::{ALLOW, WWW_AUTHENTICATE};
use engine::store::StoreError;

use super::BASE;
use crate::model::api_error::LaunchApiError;
use server::error::challenge;
use server::http::{Failure, FailureKind, JsonFault};

/// When to come back, where it is not known better.
const SOON: Duration = Duration::from_secs(1);

/// What any request can meet, in the words of this API.
pub(crate) fn fault(fault: FailureKind) -> Error {
    match fault {
        FailureKind::NoSuchPath => fault.usual().hint(format!("{BASE}/openapi.json lists what there is")),
        FailureKind::MethodNotAllowed { allowed, .. } => {
            let detail = format!("this path does not take this method; it takes {allowed}");
            Error::new(Code::MethodNotAllowed, detail).header(ALLOW, &allowed)
        }
        FailureKind::Parameter { ref name, .. } => {
            let name = name.clone();
            fault.usual().field(name)
        }
        FailureKind::NotJson { .. } => Error::new(
            Code::UnsupportedMediaType,
            "the body is not sent as JSON; send the header Content-Type: application/json",
        ),
        FailureKind::BodyCutOff => Error::new(Code::MalformedJson, "the body could not be read to its end"),
        FailureKind::Json(JsonFault { is_object: false, .. }) => FailureKind::NotAnObject.usual(),
        FailureKind::Json(fault) => unreadable(fault),
        FailureKind::Timeout => Error::new(
            Code::Timeout,
            "the request was not answered in time; a change that was asked for may still happen",
        ),
        FailureKind::Store(StoreError::Unavailable(_)) => {
            Error::new(Code::Unavailable, "the database is not answering")
        }
        FailureKind::Store(StoreError::Full(_)) => {
            Error::new(Code::Unavailable, "the database has no room left").hint("an operator must make some")
        }
        FailureKind::Internal | FailureKind::Store(_) => {
            FailureKind::Internal.usual().hint("the log has the id that is here as trace_id")
        }
        other => other.usual(),
    }
}

/// The words of the parser may repeat what was sent, and that may be a secret: only line and column are in the message.
fn unreadable(fault: JsonFault) -> Error {
    let location = format!("line {} column {}", fault.line, fault.column);
    match (fault.is_json, fault.field) {
        (true, Some(field)) => {
            let detail = format!("{field}: it does not have the expected type, at {location}");
            Error::new(Code::InvalidBody, detail).field(field)
        }
        (true, None) => {
            let detail = format!("a field is missing or does not have the expected type, at {location}");
            Error::new(Code::InvalidBody, detail)
        }
        (false, _) => Error::new(Code::MalformedJson, format!("the body is not JSON, at {location}")),
    }
}

/// Adds what follows from the status.
pub(crate) fn complete(error: &mut Error) {
    if [429, 503].contains(&error.status.as_u16()) {
        error.retry_after.get_or_insert(SOON);
    }
}

/// A part of the query, of the path or of the body.
pub(crate) fn invalid(name: &str, rule: impl Display) -> Failure {
    Failure::new(Code::InvalidParameter, format!("{name}: {rule}")).field(name)
}

/// `presented` says whether there was a token at all, as RFC 6750 wants it told.
pub(crate) fn unauthenticated(detail: &str, presented: bool) -> Failure {
    Failure::new(Code::Unauthenticated, detail).header(WWW_AUTHENTICATE, challenge(presented)).hint(
        "send the header Authorization: Bearer with a token; X-Rh-Identity counts from trusted proxies only",
    )
}

pub(crate) fn forbidden(detail: impl Display) -> Failure {
    Failure::new(Code::Forbidden, detail)
}

pub(crate) fn denied(permission: &str) -> Failure {
    forbidden(format!("this needs the permission {permission}"))
        .hint("an administrator of the organisation can grant it")
}

pub(crate) fn not_found(what: &str) -> Failure {
    Failure::new(Code::NotFound, format!("there is no such {what}"))
}

/// Something that is asked for every request does not answer.
pub(crate) fn unavailable(detail: impl Display) -> Failure {
    Failure::new(Code::Unavailable, detail)
}

impl From<LaunchApiError> for Failure {
    fn from(api_error: LaunchApiError) -> Failure {
        api_error.into_error().map_or_else(Failure::from, Failure::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::http::body::parse_object;

    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(default)]
    struct ErrorPageQuery {
        amount: i64,
        name: String,
    }

    #[test]
    fn what_is_not_known_is_ignored_and_what_is_missing_is_nothing() {
        let wanted: ErrorPageQuery = parse_object(br#"{"name": "n", "nmae": [1]}"#).unwrap();
        assert_eq!((wanted.amount, wanted.name.as_str()), (0, "n"));
    }

    #[test]
    fn what_has_the_wrong_shape_is_refused_with_the_field_and_without_the_value() {
        let deep = format!("{{\"x\": {}", "[".repeat(10_000));
        for (body, code, field) in [
            (r#"{"amount": "hunter2"}"#, Code::InvalidBody, Some("amount")),
            (r#"{"name": {"hunter2": 1}}"#, Code::InvalidBody, Some("name")),
            (r#"["hunter2"]"#, Code::InvalidBody, None),
            (r#"["hunter2""#, Code::InvalidBody, None),
            (r#"{"name": "hunter2"} x"#, Code::MalformedJson, None),
            (r#"{"name": "hunter2"#, Code::MalformedJson, None),
            ("", Code::MalformedJson, None),
            (deep.as_str(), Code::MalformedJson, None),
        ] {
            let Failure::Fault(met) = parse_object::<ErrorPageQuery>(body.as_bytes()).unwrap_err() else {
                panic!()
            };
            let error = fault(met);
            assert_eq!((error.status.as_u16(), error.known()), (400, Some(code)), "{body:.40}");
            assert_eq!(error.field.as_deref(), field, "{body:.40}");
            assert!(!error.detail.contains("hunter2"), "{}", error.detail);
        }
    }

    #[test]
    fn a_database_failing_is_not_described() {
        let refused = fault(FailureKind::Store(StoreError::Refused("relation t_42".into())));
        assert_eq!(refused.status, 500);
        assert!(!refused.sentence().contains("t_42"), "{refused:?}");
        let mut unavailable = fault(FailureKind::Store(StoreError::Unavailable("10.0.0.5:5432".into())));
        complete(&mut unavailable);
        assert_eq!((unavailable.status.as_u16(), unavailable.retry_after), (503, Some(SOON)));
        assert!(!unavailable.sentence().contains("10.0.0.5"), "{unavailable:?}");
    }
}
