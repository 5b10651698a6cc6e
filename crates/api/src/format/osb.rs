//! Error format of the Open Service Broker API: a description, and an error code where the specification has one.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Format;
use crate::Error;

#[derive(Debug, Clone, Copy, Default)]
pub struct Osb;

/// Why the broker did not do what was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct OsbBody {
    /// One word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "ConcurrencyError")]
    pub error: Option<String>,
    /// A sentence for the user.
    pub description: String,
}

impl Format for Osb {
    fn write(&self, error: &Error) -> Vec<u8> {
        let code = Some(error.code.to_string()).filter(|code| !code.is_empty());
        serde_json::to_vec(&OsbBody { error: code, description: error.sentence() }).unwrap_or_default()
    }

    /// Every broker may be asked, and the specification demands nothing: an object is enough.
    fn read(&self, status: StatusCode, body: &[u8]) -> Option<Error> {
        let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let mut text = |name: &str| match members.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        // A path outside of the broker is answered by another API of the same server.
        let detail = text("description").or_else(|| text("detail"));
        let code = text("error");
        let mut error = Error::of_status(status, detail.unwrap_or_default());
        error.code = code.unwrap_or_default().into();
        error.more = members;
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_written_only_where_there_is_one() {
        let mut error = Error::of_status(StatusCode::UNPROCESSABLE_ENTITY, "wait");
        assert_eq!(Osb.write(&error), br#"{"description":"wait"}"#);
        error.code = "AsyncRequired".into();
        assert_eq!(Osb.write(&error), br#"{"error":"AsyncRequired","description":"wait"}"#);
        assert_eq!(Osb.read(error.status, &Osb.write(&error)), Some(error));
    }

    #[test]
    fn a_broker_may_say_little() {
        let read = |body: &str| Osb.read(StatusCode::CONFLICT, body.as_bytes());
        assert_eq!(read("{}").unwrap().detail, "");
        assert_eq!(read(r#"{"error":7,"detail":"d"}"#).unwrap().detail, "d");
        assert_eq!(read(r#"{"instance_usable":false}"#).unwrap().more["instance_usable"], false);
        assert_eq!(read("<html>"), None);
    }
}
