//! Bodies: JSON, of a limited size, with errors that say where.

use api::Code;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use crate::hall::Shared;
use crate::problem::Problem;
use crate::slow_body::{SlowBody, is_slow_body};

/// A JSON object that must be there.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON object that may be left out.
pub(crate) struct MaybeJson<T>(pub(crate) Option<T>);

/// Any JSON of at most so many bytes, or nothing.
pub(crate) struct AnyJson<const BYTES_MAX: usize>(pub(crate) Option<Value>);

impl<T: DeserializeOwned> FromRequest<Shared> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, hall: &Shared) -> Result<Self, Problem> {
        check_type(request.headers())?;
        let bytes = read(request, hall).await?;
        parse_object(&bytes).map(JsonBody)
    }
}

impl<T: DeserializeOwned> FromRequest<Shared> for MaybeJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, hall: &Shared) -> Result<Self, Problem> {
        let bytes = read_optional(request, hall).await?;
        let given = bytes.filter(|bytes| bytes.trim_ascii() != b"null");
        given.map(|bytes| parse_object(&bytes)).transpose().map(MaybeJson)
    }
}

impl<const BYTES_MAX: usize> FromRequest<Shared> for AnyJson<BYTES_MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, hall: &Shared) -> Result<Self, Problem> {
        let bytes = read_optional(request, hall).await?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() > BYTES_MAX) {
            return Err(too_large(BYTES_MAX));
        }
        bytes.map(|bytes| parse(&bytes)).transpose().map(AnyJson)
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("the body is larger than {limit} bytes")).with("limit", limit)
}

/// The router limits how much of a body is read.
async fn read(request: Request, hall: &Shared) -> Result<Bytes, Problem> {
    Bytes::from_request(request, hall).await.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            too_large(hall.settings.body_limit_bytes)
        }
        rejection if is_slow_body(&rejection) => Problem::new(Code::SlowBody, SlowBody),
        _ => Problem::new(Code::InvalidBody, "the body could not be read to its end"),
    })
}

async fn read_optional(request: Request, hall: &Shared) -> Result<Option<Bytes>, Problem> {
    let is_json = check_type(request.headers());
    let bytes = read(request, hall).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    is_json.map(|()| Some(bytes))
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let detail = match essence.as_str() {
        "" => "send the header Content-Type: application/json".to_owned(),
        other => format!("the body is {other:?}; send application/json"),
    };
    Err(Problem::new(Code::UnsupportedMediaType, detail))
}

/// A list of the right values would pass for an object, and nobody who reads the API would expect that.
fn parse_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let value = parse(bytes)?;
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => Ok(value),
        _ => Err(Problem::new(Code::InvalidBody, "the body must be an object")),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        unreadable(error.inner(), (path != ".").then_some(path))
    })?;
    json.end().map_err(|error| unreadable(&error, None))?;
    Ok(value)
}

fn unreadable(error: &serde_json::Error, field: Option<String>) -> Problem {
    let code = match error.classify() {
        Category::Data => Code::InvalidBody,
        Category::Syntax | Category::Eof | Category::Io => Code::MalformedJson,
    };
    let detail = match &field {
        Some(field) if code == Code::InvalidBody => format!("{field}: {error}"),
        _ => error.to_string(),
    };
    let problem = Problem::new(code, detail).with("line", error.line()).with("column", error.column());
    match field {
        Some(field) => problem.with("field", field),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Submit;

    #[track_caller]
    fn check(body: &[u8], code: Code, part: &str) {
        let problem = parse_object::<Submit>(body).unwrap_err();
        let detail = problem.to_wire(None).detail;
        assert_eq!(problem.code(), code, "{detail}");
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
