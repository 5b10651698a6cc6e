//! Errors as clients of the hosted provisioning service know them: `msg` says what is wrong and what to do, `error` what
//! is wrong.

use std::borrow::Cow;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Format;
use crate::{Error, FieldError};

/// With what every error of the server says about it.
#[derive(Debug, Clone, Default)]
pub struct Insights {
    pub version: String,
    pub build_time: String,
    pub environment: String,
}

/// The member of [`Error::more`](crate::Parts) that has the id of the request at the edge.
const EDGE_ID: &str = "edge_id";

/// Why something was not done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = v1::ResponseError)]
pub struct InsightsBody {
    /// What is wrong and what can be done about it, for people: the console of the hosted service shows nothing else.
    #[schema(example = "amount: must be 1 to 45")]
    pub msg: String,
    /// The id under which the log has the request.
    pub trace_id: String,
    /// What came in `X-Rh-Edge-Request-Id`.
    pub edge_id: String,
    /// What is wrong.
    #[schema(example = "amount: must be 1 to 45")]
    pub error: String,
    pub version: String,
    pub build_time: String,
    pub environment: String,
    /// For programs; the same for ever.
    #[schema(example = "invalid_request")]
    pub code: String,
    /// What in the request is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Everything that is wrong, where that is more than one thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "flaws")]
    pub field_errors: Option<Vec<FieldError>>,
}

impl Format for Insights {
    fn write(&self, error: &Error) -> Vec<u8> {
        let edge_id = error.more.get(EDGE_ID).and_then(|id| id.as_str()).unwrap_or_default();
        let body = InsightsBody {
            msg: error.sentence(),
            trace_id: error.request_id.clone().unwrap_or_default(),
            edge_id: edge_id.to_owned(),
            error: error.detail.clone(),
            version: self.version.clone(),
            build_time: self.build_time.clone(),
            environment: self.environment.clone(),
            code: self.code(error).into_owned(),
            field: error.field.clone(),
            hint: error.hint.clone(),
            field_errors: Some(error.fields.clone()).filter(|fields| fields.len() > 1),
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }

    fn read(&self, status: StatusCode, body: &[u8]) -> Option<Error> {
        let body: InsightsBody = serde_json::from_slice(body).ok()?;
        let mut error = Error::of_status(status, if body.error.is_empty() { body.msg } else { body.error });
        error.code = body.code.into();
        error.field = body.field;
        error.hint = body.hint;
        error.fields = body.field_errors.unwrap_or_default();
        error.request_id = Some(body.trace_id).filter(|id| !id.is_empty());
        Some(error)
    }

    /// Codes that all APIs have in common are written with underscores here.
    fn code<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        error.code.replace('-', "_").into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn an_error_is_written_and_read_back() {
        let insights = Insights { version: "1".into(), build_time: "t".into(), environment: "e".into() };
        let mut error = Error::new(Code::NotFound, "no key").field("id").hint("list them").with(EDGE_ID, "x");
        error.request_id = Some("r".into());
        let written = insights.write(&error);
        let expected = r#"{"msg":"no key; list them","trace_id":"r","edge_id":"x","error":"no key","version":"1","build_time":"t","environment":"e","code":"not_found","field":"id","hint":"list them"}"#;
        assert_eq!(String::from_utf8(written.clone()).unwrap(), expected);
        let read = Insights::default().read(error.status, &written).unwrap();
        assert_eq!((read.known(), read.detail.as_str()), (Some(Code::NotFound), "no key"));
        assert_eq!((read.field.as_deref(), read.hint.as_deref()), (Some("id"), Some("list them")));
        assert_eq!(read.request_id.as_deref(), Some("r"));
        assert_eq!(Insights::default().read(error.status, b"{}"), None);
    }

    #[test]
    fn one_field_is_told_in_the_sentence_and_several_in_a_list() {
        let mut error = Error::new(Code::InvalidBody, "two");
        error.fields = vec![FieldError::new("a", "no")];
        assert!(!String::from_utf8(Insights::default().write(&error)).unwrap().contains("flaws"));
        error.fields.push(FieldError::new("b", "no").hint("h"));
        let written = String::from_utf8(Insights::default().write(&error)).unwrap();
        let list = r#""flaws":[{"field":"a","message":"no"},{"field":"b","message":"no","hint":"h"}]"#;
        assert!(written.contains(list), "{written}");
        assert_eq!(Insights::default().read(error.status, written.as_bytes()).unwrap().fields, error.fields);
    }
}
