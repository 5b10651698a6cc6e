//! Errors of the serverless API: a status, a short text and a message.

use api::Error;
use http::StatusCode;
use opennebula::{NebulaError, NebulaErrorKind as Kind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::Json;

/// Kept in the state of an operation that failed, so it never holds a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeError {
    pub status: u16,
    pub error: String,
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub message: Json,
    /// Whether the same may work in a moment.
    #[serde(skip)]
    pub(crate) may_heal: bool,
}

impl RuntimeError {
    pub fn new(status: u16, error: impl Into<String>, message: impl Into<Json>) -> RuntimeError {
        RuntimeError { status, error: error.into(), message: message.into(), may_heal: false }
    }

    /// The runtime does not exist, or not for this caller.
    pub fn not_found() -> RuntimeError {
        RuntimeError::new(404, "Serverless Runtime not found", "")
    }

    /// What was sent cannot be a runtime.
    pub fn invalid(message: impl Into<Json>) -> RuntimeError {
        RuntimeError::new(400, "Invalid Serverless Runtime specification", message)
    }

    /// What OpenNebula said, with the status that callers know for it.
    pub fn of(error: impl Into<String>, cause: &NebulaError) -> RuntimeError {
        let (status, message) = match cause {
            NebulaError::Refused { kind, message, .. } => (status(*kind), message.clone()),
            NebulaError::TimedOut { .. } => (504, cause.to_string()),
            NebulaError::Unreachable { .. } | NebulaError::Electing { .. } => (503, cause.to_string()),
            NebulaError::Broken { .. } => (500, cause.to_string()),
        };
        RuntimeError { may_heal: cause.may_heal(), ..RuntimeError::new(status, error, message) }
    }

    /// The same with one more sentence, where there is room for one.
    #[must_use]
    pub(crate) fn and(mut self, more: &str) -> RuntimeError {
        if let Json::Text(text) = &mut self.message {
            *text = if text.is_empty() { more.to_owned() } else { format!("{text}; {more}") };
        }
        self
    }
}

impl From<RuntimeError> for Error {
    fn from(runtime_error: RuntimeError) -> Error {
        let status = StatusCode::from_u16(runtime_error.status).ok().filter(|status| status.as_u16() >= 400);
        let (detail, is_json) = match runtime_error.message {
            Json::Text(text) => (text, false),
            other => (other.to_string(), true),
        };
        let mut error = Error::of_status(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), detail);
        error.title = runtime_error.error.into();
        error.detail_is_json = is_json;
        error
    }
}

fn status(kind: Kind) -> u16 {
    match kind {
        Kind::Authentication => 401,
        Kind::Authorization => 403,
        Kind::NotFound => 404,
        Kind::Allocate => 422,
        Kind::Locked => 423,
        Kind::Action | Kind::Api | Kind::Internal | Kind::Other(_) => 500,
    }
}

/// As text, because what is saved does not keep the order of members.
fn as_text<S: Serializer>(json: &Json, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&json.to_string())
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Json::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use api::{Cognit, Format as _};

    use super::*;

    #[test]
    fn an_error_keeps_the_order_of_its_message_when_it_is_saved() {
        let message = Json::parse(r#"[{"timestamp":1,"severity":"E","message":"no"}]"#).unwrap();
        let runtime_error = RuntimeError::new(500, "it failed", message);
        let saved = serde_json::to_value(&runtime_error).unwrap();
        let read: RuntimeError = serde_json::from_value(saved).unwrap();
        assert_eq!(read, runtime_error);
        let body = r#"{"error":"it failed","message":[{"timestamp":1,"severity":"E","message":"no"}]}"#;
        assert_eq!(String::from_utf8(Cognit.write(&read.into())).unwrap(), body);
    }

    #[test]
    fn what_is_wrong_on_the_external_system_has_a_status_that_callers_know() {
        let refused = |kind| NebulaError::Refused { service: "oned", kind, message: "no".into() };
        let known = [
            (refused(Kind::Authentication), 401),
            (refused(Kind::Authorization), 403),
            (refused(Kind::NotFound), 404),
            (refused(Kind::Locked), 423),
            (refused(Kind::Internal), 500),
        ];
        for (error, status) in known {
            let runtime_error = RuntimeError::of("it failed", &error);
            assert_eq!(
                (runtime_error.status, runtime_error.message),
                (status, Json::from("no")),
                "{error:?}"
            );
        }
    }
}
