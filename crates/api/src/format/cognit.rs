//! Error format of the COGNIT Provisioning Engine: a short text and a message.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Format;
use crate::Error;

#[derive(Debug, Clone, Copy, Default)]
pub struct Cognit;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Error)]
pub struct CognitBody {
    /// What went wrong.
    #[schema(example = "Serverless Runtime not found")]
    pub error: String,
    /// What OpenNebula said, or what to do: a text, a list or an object.
    #[schema(value_type = Value)]
    pub message: Value,
}

impl CognitBody {
    pub fn of(error: &Error) -> CognitBody {
        let json = error.detail_is_json.then(|| serde_json::from_str(&error.detail).ok()).flatten();
        CognitBody {
            error: error.title.to_string(),
            message: json.unwrap_or_else(|| error.sentence().into()),
        }
    }

    pub fn into_error(self, status: StatusCode) -> Error {
        let (detail, is_json) = match self.message {
            Value::String(text) => (text, false),
            Value::Null => (String::new(), false),
            other => (other.to_string(), true),
        };
        let mut error = Error::of_status(status, detail);
        error.title = self.error.into();
        error.detail_is_json = is_json;
        error
    }
}

impl Format for Cognit {
    /// Written by hand where the detail is JSON: its members keep their order.
    fn write(&self, error: &Error) -> Vec<u8> {
        if error.detail_is_json {
            let title = Value::from(error.title.as_ref());
            return format!(r#"{{"error":{title},"message":{}}}"#, error.detail).into_bytes();
        }
        serde_json::to_vec(&CognitBody::of(error)).unwrap_or_default()
    }

    fn read(&self, status: StatusCode, body: &[u8]) -> Option<Error> {
        Some(serde_json::from_slice::<CognitBody>(body).ok()?.into_error(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_are_written_and_read_back() {
        let mut error = Error::of_status(StatusCode::LOCKED, "wait \"a\" bit");
        error.title = "It is \"busy\"".into();
        let written = Cognit.write(&error);
        assert_eq!(written, br#"{"error":"It is \"busy\"","message":"wait \"a\" bit"}"#);
        assert_eq!(Cognit.read(error.status, &written), Some(error.clone()));
        error.detail = r#"[{"timestamp":1,"severity":"E","message":"no"}]"#.into();
        error.detail_is_json = true;
        let expected = format!(r#"{{"error":"It is \"busy\"","message":{}}}"#, error.detail);
        assert_eq!(String::from_utf8(Cognit.write(&error)).unwrap(), expected);
        assert!(Cognit.read(error.status, expected.as_bytes()).unwrap().detail_is_json);
        assert_eq!(Cognit.read(error.status, b"{}"), None);
    }
}
