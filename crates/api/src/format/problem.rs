//! Problem documents of RFC 9457, with a stable code.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::Format;
use crate::Error;

#[derive(Debug, Clone, Copy, Default)]
pub struct Problem;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Where this kind of problem is explained.
    #[serde(rename = "type")]
    #[schema(example = "/errors/operation-not-found")]
    pub kind: String,
    /// The same for every problem of this kind.
    pub title: String,
    pub status: u16,
    /// What went wrong this time, and what to do about it.
    pub detail: String,
    /// Stable: the name by which programs tell problems apart.
    #[schema(example = "operation-not-found")]
    pub code: String,
    /// The request id, as it is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// More for programs, such as `parameter`, `field`, `line`, `column`, `phase`, `possible` or `operation`.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = std::collections::BTreeMap<String, Value>)]
    pub fields: Map<String, Value>,
}

impl Format for Problem {
    const CONTENT_TYPE: &'static str = "application/problem+json";

    fn write(&self, error: &Error) -> Vec<u8> {
        let mut fields = error.more.clone();
        fields.extend(error.field.clone().map(|field| ("field".to_owned(), field.into())));
        let body = ProblemBody {
            kind: format!("/errors/{}", error.code),
            title: error.title.to_string(),
            status: error.status.as_u16(),
            detail: error.sentence(),
            code: error.code.to_string(),
            instance: error.request_id.clone(),
            fields,
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    fn read(&self, status: StatusCode, body: &[u8]) -> Option<Error> {
        let ProblemBody { title, detail, code, instance, mut fields, .. } =
            serde_json::from_slice(body).ok()?;
        let mut error = Error::of_status(status, detail);
        error.code = code.into();
        error.title = title.into();
        error.field = fields.remove("field").and_then(|field| field.as_str().map(str::to_owned));
        error.request_id = instance;
        error.more = fields;
        Some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn a_problem_is_written_and_read_back() {
        let mut error = Error::new(Code::InvalidBody, "a.b: it must be text").field("a.b").with("line", 3);
        error.request_id = Some("r1".into());
        let written = Problem.write(&error);
        let expected = r#"{"type":"/errors/invalid-body","title":"The body does not have the expected shape","status":400,"detail":"a.b: it must be text","code":"invalid-body","instance":"r1","field":"a.b","line":3}"#;
        assert_eq!(String::from_utf8(written.clone()).unwrap(), expected);
        assert_eq!(Problem.read(StatusCode::BAD_REQUEST, &written), Some(error));
    }

    #[test]
    fn the_code_of_another_release_is_kept_and_a_page_of_a_proxy_is_no_problem() {
        let body = br#"{"type":"/errors/teapot","title":"T","status":418,"detail":"d","code":"teapot"}"#;
        let error = Problem.read(StatusCode::IM_A_TEAPOT, body).unwrap();
        assert_eq!((error.code.as_ref(), error.known()), ("teapot", None));
        assert_eq!(Problem.read(StatusCode::BAD_GATEWAY, b"<html>"), None);
    }
}
