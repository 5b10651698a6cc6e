//! Bodies: JSON, of a limited size, with errors that say where.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use super::slow_body::is_slow_body;
use super::{Api, Failure, Fault, JsonFault};

/// A JSON object that must be there.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON object that may be left out.
pub(crate) struct MaybeJson<T>(pub(crate) Option<T>);

/// Any JSON of at most so many bytes, or nothing.
pub(crate) struct AnyJson<const BYTES_MAX: usize>(pub(crate) Option<Value>);

impl<T: DeserializeOwned, A: Api> FromRequest<Arc<A>> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Arc<A>) -> Result<Self, Failure> {
        // A page in a browser cannot send this type to another site without permission of that site.
        check_type(request.headers())?;
        let bytes = read(request, api.body_limit_bytes()).await?;
        parse_object(&bytes).map(JsonBody)
    }
}

impl<T: DeserializeOwned, A: Api> FromRequest<Arc<A>> for MaybeJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Arc<A>) -> Result<Self, Failure> {
        let bytes = read_optional(request, api.body_limit_bytes()).await?;
        let given = bytes.filter(|bytes| bytes.trim_ascii() != b"null");
        given.map(|bytes| parse_object(&bytes)).transpose().map(MaybeJson)
    }
}

impl<const BYTES_MAX: usize, A: Api> FromRequest<Arc<A>> for AnyJson<BYTES_MAX> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Arc<A>) -> Result<Self, Failure> {
        let bytes = read_optional(request, api.body_limit_bytes()).await?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() > BYTES_MAX) {
            return Err(Fault::BodyTooLarge { limit: BYTES_MAX }.into());
        }
        bytes.map(|bytes| parse(&bytes)).transpose().map(AnyJson)
    }
}

/// All of a body. The router limits how much is read, and `limit` is how much that is.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, Failure> {
    let bytes = Bytes::from_request(request, &()).await;
    bytes.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            Fault::BodyTooLarge { limit }.into()
        }
        rejection if is_slow_body(&rejection) => Fault::SlowBody.into(),
        _ => Fault::BodyCutOff.into(),
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

pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Failure> {
    let given = essence(headers);
    if given == "application/json" || (given.starts_with("application/") && given.ends_with("+json")) {
        return Ok(());
    }
    Err(Fault::NotJson { given }.into())
}

/// A list of the right values would pass for an object, and the description of the API does not say so.
pub(crate) fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let value = parse(bytes)?;
    if is_object(bytes) { Ok(value) } else { Err(Fault::NotAnObject.into()) }
}

pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
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
    Fault::Json(fault).into()
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
        check(b" [\"a\", null, \"t\", {}, false]", Code::InvalidBody, "must be an object");
    }
}
