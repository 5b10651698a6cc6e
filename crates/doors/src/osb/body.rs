//! Bodies: a JSON object of a limited size and depth, whose fields are taken out one by one.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};

use super::error;
use crate::http::body::check_type;
use crate::http::{self, Failure, Fault};

/// No schema goes this deep, and whoever reads the value later may not stand it.
const DEPTH_MAX: usize = 64;
const TEXT_CHARS_MAX: usize = 255;
/// The largest object of parameters, and of a context, in bytes of JSON.
const OBJECT_BYTES_MAX: usize = 64 * 1024;

/// What a request sent. Errors name the field and never repeat its value: it may be a secret.
#[derive(Clone)]
pub(super) struct Fields(Arc<Map<String, Value>>);

/// Reads the body of a request. A missing type is taken for JSON, as many clients send none.
pub(super) async fn read(request: Request, limit: usize) -> Result<Fields, Failure> {
    let is_json = if is_untyped(request.headers()) { Ok(()) } else { check_type(request.headers()) };
    let bytes = http::body::read(request, limit).await?;
    is_json?;
    parse(&bytes)
}

fn is_untyped(headers: &HeaderMap) -> bool {
    let essence = |value: &HeaderValue| value.to_str().ok()?.split(';').next().map(str::trim).map(str::len);
    headers.get(CONTENT_TYPE).is_none_or(|value| essence(value) == Some(0))
}

fn parse(bytes: &[u8]) -> Result<Fields, Failure> {
    let value: Value = http::body::parse(bytes)?;
    if depth(&value) > DEPTH_MAX {
        return Err(error::bad(format!("the body is nested more than {DEPTH_MAX} levels deep")));
    }
    match value {
        Value::Object(fields) => Ok(Fields(Arc::new(fields))),
        _ => Err(Fault::NotAnObject.into()),
    }
}

/// The parser itself stops at a depth that this can bear.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

impl Fields {
    /// A text that must be there.
    pub(super) fn text(&self, name: &str) -> Result<&str, Failure> {
        self.maybe_text(name)?.ok_or_else(|| error::bad(format!("{name}: is missing")))
    }

    pub(super) fn maybe_text(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => check_text(name, text).map(|()| Some(text.as_str())),
            Some(_) => Err(error::bad(format!("{name}: must be a string"))),
        }
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<&Map<String, Value>>, Failure> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(_) => Err(error::bad(format!("{name}: must be an object"))),
        }
    }

    /// An object that is kept, so its size counts.
    pub(super) fn small_object(&self, name: &str) -> Result<Option<&Map<String, Value>>, Failure> {
        let object = self.object(name)?;
        let is_large = object.is_some_and(|object| {
            serde_json::to_string(object).is_ok_and(|text| text.len() > OBJECT_BYTES_MAX)
        });
        if is_large {
            return Err(error::bad(format!("{name}: has more than {OBJECT_BYTES_MAX} bytes")));
        }
        Ok(object)
    }

    /// The version in `maintenance_info`. Clients send an empty object where they mean none.
    pub(super) fn maintenance_version(&self) -> Result<Option<&str>, Failure> {
        let Some(info) = self.object("maintenance_info")? else { return Ok(None) };
        match info.get("version") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(version)) => Ok(Some(version.as_str()).filter(|version| !version.is_empty())),
            Some(_) => Err(error::bad("maintenance_info.version: must be a string")),
        }
    }
}

/// A text of a context, which has to fit into a list that can be searched.
pub(super) fn context_text<'a>(
    context: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, Failure> {
    let field = format!("context.{name}");
    match context.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => check_text(&field, text).map(|()| Some(text.as_str())),
        Some(_) => Err(error::bad(format!("{field}: must be a string"))),
    }
}

/// Text that may go into a database and into a log.
fn check_text(name: &str, text: &str) -> Result<(), Failure> {
    let length = text.chars().count();
    if (1..=TEXT_CHARS_MAX).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let rule = format!("must have 1 to {TEXT_CHARS_MAX} characters and no control characters");
    Err(error::bad(format!("{name}: {rule}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> Fields {
        parse(value.to_string().as_bytes()).unwrap_or_else(|_| panic!("{value}"))
    }

    #[test]
    fn what_is_no_object_or_too_deep_is_refused() {
        let nested = |levels: usize| format!("{}{}", r#"{"a":"#.repeat(levels) + "1", "}".repeat(levels));
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        let too_deep = nested(DEPTH_MAX + 1);
        let far_too_deep = "[".repeat(100_000);
        for bad in ["", "[]", "1", "null", "\"a\"", "{", "{} x", "{\"a\": 1e999}", &too_deep, &far_too_deep] {
            assert!(parse(bad.as_bytes()).is_err(), "{}", &bad[..bad.len().min(40)]);
        }
        assert!(parse(b"{\"a\": \"\xff\"}").is_err());
        assert!(parse(b"{\"a\": \"\\ud800\"}").is_err());
    }

    #[test]
    fn fields_have_the_right_type_or_are_refused() {
        let sent = fields(
            &json!({"text": "a", "empty": "", "null": null, "number": 7, "object": {}, "bad": "a\u{0}"}),
        );
        assert_eq!(sent.text("text").ok(), Some("a"));
        for bad in ["empty", "null", "number", "object", "absent", "bad"] {
            assert!(sent.text(bad).is_err(), "{bad}");
        }
        assert!(matches!(sent.maybe_text("null"), Ok(None)));
        assert!(matches!(sent.object("absent"), Ok(None)) && matches!(sent.object("null"), Ok(None)));
        assert!(matches!(sent.object("object"), Ok(Some(_))));
        assert!(sent.object("text").is_err() && sent.object("number").is_err());
        assert!(sent.small_object("object").is_ok());
        let large = fields(&json!({"parameters": {"a": "x".repeat(OBJECT_BYTES_MAX)}}));
        assert!(large.small_object("parameters").is_err());
    }

    #[test]
    fn an_empty_maintenance_info_means_none() {
        let version = |info: Value| {
            fields(&json!({"maintenance_info": info}))
                .maintenance_version()
                .map(|v| v.map(str::to_owned))
                .ok()
        };
        assert_eq!(version(json!({})), Some(None));
        assert_eq!(version(json!(null)), Some(None));
        assert_eq!(version(json!({"version": ""})), Some(None));
        assert_eq!(version(json!({"version": "1.2.3"})), Some(Some("1.2.3".into())));
        assert_eq!(version(json!({"version": 7})), None);
        assert_eq!(version(json!("1.2.3")), None);
    }

    #[test]
    fn a_body_is_json_or_says_nothing_about_itself() {
        let is_json = |headers: HeaderMap| is_untyped(&headers) || check_type(&headers).is_ok();
        let of = |kind: &str| is_json(HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]));
        assert!(is_json(HeaderMap::new()) && of(" ; charset=utf-8"));
        assert!(
            of("application/json") && of("Application/JSON; charset=utf-8") && of("application/vnd.a+json")
        );
        assert!(!of("text/plain") && !of("application/x-www-form-urlencoded") && !of("multipart/json"));
    }
}
