//! Bodies: JSON, of a limited size, with errors that say where.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use super::slow_body::is_slow_body;
use super::{Failure, FailureKind, JsonFault};

/// A JSON object that must be there.
pub struct JsonBody<T>(pub T);

/// A JSON object that may be left out.
pub struct MaybeJson<T>(pub Option<T>);

/// Any JSON of at most so many bytes, or nothing.
pub struct AnyJson<const BYTES_MAX: usize>(pub Option<Value>);

/// The largest body that the API of a request reads; its guard says so to the readers.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimit(pub(super) usize);

/// Outside of an API nothing is read.
fn limit(request: &Request) -> usize {
    request.extensions().get::<BodyLimit>().map_or(0, |limit| limit.0)
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Failure> {
        // A page in a browser cannot send this type to another site without permission of that site.
        check_type(request.headers())?;
        let limit = limit(&request);
        let bytes = read(request, limit).await?;
        parse_object(&bytes).map(JsonBody)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for MaybeJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Failure> {
        let limit = limit(&request);
        let bytes = read_optional(request, limit).await?;
        let given = bytes.filter(|bytes| bytes.trim_ascii() != b"null");
        given.map(|bytes| parse_object(&bytes)).transpose().map(MaybeJson)
    }
}

impl<const BYTES_MAX: usize, S: Send + Sync> FromRequest<S> for AnyJson<BYTES_MAX> {
    type Rejection = Failure;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Failure> {
        let limit = limit(&request);
        let bytes = read_optional(request, limit).await?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() > BYTES_MAX) {
            return Err(FailureKind::BodyTooLarge { limit: BYTES_MAX }.into());
        }
        bytes.map(|bytes| parse(&bytes)).transpose().map(AnyJson)
    }
}

/// All of a body. The router limits how much is read, and `limit` is how much that is.
pub async fn read(request: Request, limit: usize) -> Result<Bytes, Failure> {
    let bytes = Bytes::from_request(request, &()).await;
    bytes.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            FailureKind::BodyTooLarge { limit }.into()
        }
        rejection if is_slow_body(&rejection) => FailureKind::SlowBody.into(),
        _ => FailureKind::BodyCutOff.into(),
    })
}

async fn read_optional(request: Request, limit: usize) -> Result<Option<Bytes>, Failure> {
    let is_json = check_type(request.headers());
    let bytes = read(request, limit).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    is_json.map(|()| Some(bytes))
}

/// The type of a body without its parameters, in lower case.
fn essence(headers: &HeaderMap) -> String {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub fn check_type(headers: &HeaderMap) -> Result<(), Failure> {
    let given = essence(headers);
    if given == "application/json" || (given.starts_with("application/") && given.ends_with("+json")) {
        return Ok(());
    }
    Err(FailureKind::NotJson { given }.into())
}

/// A list of the right values would pass for an object, and the description of the API does not say so.
pub fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let value = parse(bytes)?;
    if is_object(bytes) { Ok(value) } else { Err(FailureKind::NotAnObject.into()) }
}

pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        unreadable(bytes, error.inner(), (path != ".").then_some(path))
    })?;
    json.end().map_err(|error| unreadable(bytes, &error, None))?;
    Ok(value)
}

/// Nothing at all counts as an object that is cut off.
fn is_object(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| *byte == b'{')
}

fn unreadable(bytes: &[u8], error: &serde_json::Error, field: Option<String>) -> Failure {
    let fault = JsonFault {
        is_json: error.classify() == Category::Data,
        is_object: is_object(bytes),
        field,
        line: error.line(),
        column: error.column(),
        text: error.to_string(),
    };
    FailureKind::Json(fault).into()
}

#[cfg(test)]
mod tests {
    use api::Code;

    use super::*;
    use crate::wire::Submit;

    #[track_caller]
    fn check(body: &[u8], code: Code, part: &str) {
        let Failure::Fault(fault) = parse_object::<Submit>(body).unwrap_err() else { panic!("no fault") };
        let error = crate::error::fault(fault);
        let detail = &error.detail;
        assert_eq!(error.known(), Some(code), "{detail}");
        assert!(detail.contains(part), "{detail}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_place() {
        check(b"", Code::MalformedJson, "line 1 column 0");
        check(b"{\n  \"workflow\": \"a\",\n}", Code::MalformedJson, "line 3 column 1");
        check(b"{\"workflow\": \"\xff\xfe\"}", Code::MalformedJson, "line 1 column");
        check(b"{\"workflow\": \"a\"} x", Code::MalformedJson, "trailing characters");
        let deep = format!("{{\"workflow\": \"a\", \"params\": {}", "[".repeat(10_000));
        check(deep.as_bytes(), Code::MalformedJson, "recursion limit");
    }

    #[test]
    fn what_has_the_wrong_shape_is_refused_with_the_field() {
        check(b"{\"workflow\": 1}", Code::InvalidBody, "workflow: invalid type: integer");
        check(b"{\"workflow\": \"a\", \"ressource\": \"b\"}", Code::InvalidBody, "unknown field `ressource`");
        check(b"{\"workflow\": \"a\", \"workflow\": \"b\"}", Code::InvalidBody, "duplicate field");
        check(b"{}", Code::InvalidBody, "missing field `workflow`");
        check(b"[]", Code::InvalidBody, "");
        check(b" [\"a\"]", Code::InvalidBody, "");
        check(b" [\"a\", null, null, \"t\", {}, false]", Code::InvalidBody, "must be an object");
    }
}
