//! Bodies: a JSON object of a limited size and depth, read into the type that describes it. Errors name the field and
//! never repeat its value: it may be a secret.

use axum::extract::{FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::wire::MaintenanceInfo;
use super::{BrokerState, error};
use server::http::body::check_type;
use server::http::{self, Failure, FailureKind};

/// No schema goes this deep, and what reads the value later may not stand it.
const DEPTH_MAX: usize = 64;
const TEXT_CHARS_MAX: usize = 255;
/// The largest object of parameters, and of a context, in bytes of JSON.
const OBJECT_BYTES_MAX: usize = 64 * 1024;

type Object = Map<String, Value>;

/// What was sent, before it is known what it must be.
#[derive(Clone)]
pub(crate) struct RawBody(Object);

/// What was sent, as the description of the API says.
pub(crate) struct OsbBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<BrokerState> for OsbBody<T> {
    type Rejection = Failure;

    /// The guard has put it there for every request that has a body.
    async fn from_request_parts(parts: &mut Parts, _shared: &BrokerState) -> Result<OsbBody<T>, Failure> {
        let RawBody(object) = parts.extensions.remove().ok_or_else(Failure::internal)?;
        typed(object).map(OsbBody)
    }
}

/// Reads the body of a request. A missing type is taken for JSON, as many clients send none.
pub(crate) async fn read(request: Request, limit: usize) -> Result<RawBody, Failure> {
    let is_json = if is_untyped(request.headers()) { Ok(()) } else { check_type(request.headers()) };
    let bytes = http::body::read(request, limit).await?;
    is_json?;
    parse(&bytes).map(RawBody)
}

fn is_untyped(headers: &HeaderMap) -> bool {
    let essence = |value: &HeaderValue| value.to_str().ok()?.split(';').next().map(str::trim).map(str::len);
    headers.get(CONTENT_TYPE).is_none_or(|value| essence(value) == Some(0))
}

fn parse(bytes: &[u8]) -> Result<Object, Failure> {
    let value: Value = http::body::parse(bytes)?;
    if depth(&value) > DEPTH_MAX {
        return Err(error::bad(format!("the body is nested more than {DEPTH_MAX} levels deep")));
    }
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(FailureKind::NotAnObject.into()),
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

/// A member that is null is as good as none.
fn typed<T: DeserializeOwned>(object: Object) -> Result<T, Failure> {
    let members: Object = object.into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        let (path, text) = (error.path().to_string(), error.inner().to_string());
        let missing = text.strip_prefix("missing field `").and_then(|name| name.strip_suffix('`'));
        error::bad(match missing {
            Some(name) => format!("{name}: is missing"),
            None if text.starts_with('.') => format!("{path}{text}"),
            None => format!("{path}: {text}"),
        })
    })
}

pub(crate) fn text<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    match Value::deserialize(value)? {
        Value::String(text) => check_text(&text).map(|()| text).map_err(D::Error::custom),
        _ => Err(D::Error::custom("must be a string")),
    }
}

pub(crate) fn maybe_text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    text(value).map(Some)
}

pub(crate) fn object<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Object>, D::Error> {
    match Value::deserialize(value)? {
        Value::Object(object) => Ok(Some(object)),
        _ => Err(D::Error::custom("must be an object")),
    }
}

/// An object that is kept, so its size counts.
pub(crate) fn small_object<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Object>, D::Error> {
    let object = object(value)?;
    if serde_json::to_string(&object).is_ok_and(|text| text.len() > OBJECT_BYTES_MAX) {
        return Err(D::Error::custom(format!("has more than {OBJECT_BYTES_MAX} bytes")));
    }
    Ok(object)
}

/// Clients send an empty object, or an empty version, where they mean none.
pub(crate) fn maintenance_info<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<MaintenanceInfo>, D::Error> {
    let version = object(value)?.and_then(|mut info| info.remove("version"));
    let version = match version {
        None | Some(Value::Null) => None,
        Some(Value::String(version)) => Some(version).filter(|version| !version.is_empty()),
        Some(_) => return Err(D::Error::custom(".version: must be a string")),
    };
    Ok(Some(MaintenanceInfo { version }))
}

/// A text of a context, which has to fit into a list that can be searched.
pub(crate) fn context_text<'a>(context: &'a Object, name: &str) -> Result<Option<&'a str>, Failure> {
    let bad = |rule: &str| error::bad(format!("context.{name}: {rule}"));
    match context.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => {
            check_text(text).map(|()| Some(text.as_str())).map_err(|rule| bad(&rule))
        }
        Some(_) => Err(bad("must be a string")),
    }
}

/// Text that may go into a database and into a log.
fn check_text(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if (1..=TEXT_CHARS_MAX).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("must have 1 to {TEXT_CHARS_MAX} characters and no control characters"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::wire::{BindBody, ProvisionBody, UpdateBody};
    use super::*;

    fn told<T: DeserializeOwned>(sent: &Value) -> Result<T, String> {
        let object = parse(sent.to_string().as_bytes()).unwrap_or_else(|_| panic!("{sent}"));
        typed(object).map_err(|failure| failure.into_error(error::fault).detail.clone())
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
    fn fields_have_the_right_type_or_are_refused_by_name() {
        let good: UpdateBody = told(&json!({"service_id": "s", "plan_id": null, "unknown": 7})).unwrap();
        assert_eq!((good.service_id.as_str(), good.plan_id), ("s", None));
        let rule = "must have 1 to 255 characters and no control characters";
        for (name, value, expect) in [
            ("service_id", json!(null), "is missing"),
            ("service_id", json!(""), rule),
            ("service_id", json!("a\u{0}"), rule),
            ("service_id", json!(7), "must be a string"),
            ("plan_id", json!({}), "must be a string"),
            ("context", json!("text"), "must be an object"),
            ("parameters", json!([]), "must be an object"),
            ("parameters", json!({"a": "x".repeat(OBJECT_BYTES_MAX)}), "has more than 65536 bytes"),
            ("previous_values", json!(1), "must be an object"),
        ] {
            let mut sent = json!({"service_id": "s"});
            sent[name] = value;
            assert_eq!(told::<UpdateBody>(&sent).unwrap_err(), format!("{name}: {expect}"));
        }
        assert!(told::<BindBody>(&json!({})).is_ok());
        assert_eq!(told::<BindBody>(&json!({"app_guid": 1})).unwrap_err(), "app_guid: must be a string");
        let short: ProvisionBody = told(&json!({"service_id": "s", "plan_id": "p"})).unwrap();
        assert_eq!(short.organization_guid, "");
    }

    #[test]
    fn an_empty_maintenance_info_means_none() {
        let version = |info: Value| {
            let body = told::<UpdateBody>(&json!({"service_id": "s", "maintenance_info": info}));
            body.map(|body| body.maintenance_info.and_then(|info| info.version))
        };
        assert_eq!(version(json!({})), Ok(None));
        assert_eq!(version(json!(null)), Ok(None));
        assert_eq!(version(json!({"version": ""})), Ok(None));
        assert_eq!(version(json!({"version": "1.2.3"})), Ok(Some("1.2.3".into())));
        assert_eq!(version(json!({"version": 7})), Err("maintenance_info.version: must be a string".into()));
        assert_eq!(version(json!("1.2.3")), Err("maintenance_info: must be an object".into()));
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
