//! Bodies: JSON of a limited size. What is not known is ignored, as clients are used to;
//! what has the wrong type is refused by name.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::Desk;
use super::refused::Refused;
use crate::slow_body::is_slow_body;

/// An object that was sent.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Desk> for Sent<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, desk: &Desk) -> Result<Sent<T>, Refused> {
        // A page in somebody's browser cannot send this type without being asked whether it may.
        if !is_json(request.headers()) {
            return Err(Refused::not_json());
        }
        parse(&read(request, desk).await?).map(Sent)
    }
}

pub(super) async fn read(request: Request, desk: &Desk) -> Result<Bytes, Refused> {
    Bytes::from_request(request, desk).await.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            Refused::too_large(desk.door.body_limit_bytes)
        }
        rejection if is_slow_body(&rejection) => Refused::slow_body(),
        _ => malformed("the body could not be read to its end"),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn malformed(cause: impl Into<String>) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, "malformed_json", cause)
}

pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte != b'{') {
        return Err(Refused::new(StatusCode::BAD_REQUEST, "invalid_body", "the body must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        unreadable(error.inner(), Some(path).filter(|path| path != "."))
    })?;
    json.end().map_err(|error| unreadable(&error, None))?;
    Ok(value)
}

/// The words of the parser may repeat what was sent, and that may be a secret: only the place is told.
fn unreadable(error: &serde_json::Error, field: Option<String>) -> Refused {
    let place = format!("line {} column {}", error.line(), error.column());
    match (error.classify(), field) {
        (Category::Data, Some(field)) => {
            let cause = format!("{field}: it does not have the expected type, at {place}");
            Refused::new(StatusCode::BAD_REQUEST, "invalid_body", cause).field(field)
        }
        (Category::Data, None) => {
            let cause = format!("a field is missing or does not have the expected type, at {place}");
            Refused::new(StatusCode::BAD_REQUEST, "invalid_body", cause)
        }
        _ => malformed(format!("the body is not JSON, at {place}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(default)]
    #[derive(Default)]
    struct Wanted {
        amount: i64,
        name: String,
    }

    #[test]
    fn what_is_not_known_is_ignored_and_what_is_missing_is_nothing() {
        let wanted: Wanted = parse(br#"{"name": "n", "nmae": [1]}"#).unwrap();
        assert_eq!((wanted.amount, wanted.name.as_str()), (0, "n"));
    }

    #[test]
    fn what_has_the_wrong_shape_is_refused_with_the_field_and_without_the_value() {
        let deep = format!("{{\"x\": {}", "[".repeat(10_000));
        for (body, code, field) in [
            (r#"{"amount": "hunter2"}"#, "invalid_body", Some("amount")),
            (r#"{"name": {"hunter2": 1}}"#, "invalid_body", Some("name")),
            (r#"["hunter2"]"#, "invalid_body", None),
            (r#"{"name": "hunter2"} x"#, "malformed_json", None),
            (r#"{"name": "hunter2"#, "malformed_json", None),
            ("", "malformed_json", None),
            (deep.as_str(), "malformed_json", None),
        ] {
            let inner = parse::<Wanted>(body.as_bytes()).unwrap_err().into_inner();
            assert_eq!((inner.status.as_u16(), inner.code), (400, code), "{body:.40}");
            assert_eq!(inner.field.as_deref(), field, "{body:.40}");
            assert!(!inner.cause.contains("hunter2"), "{}", inner.cause);
        }
    }
}
