//! The two headers for identities of users and requests. No request fails because of them.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};

pub(crate) const REQUEST_IDENTITY: HeaderName = HeaderName::from_static("x-broker-api-request-identity");
const ORIGINATING_IDENTITY: HeaderName = HeaderName::from_static("x-broker-api-originating-identity");
/// Longer ones say nothing that any client could want in an audit log.
const ORIGIN_BYTES_MAX: usize = 8 * 1024;
const IDENTITY_BYTES_MAX: usize = 8 * 1024;
/// What of an origin is kept in the audit log.
const SHOWN_CHARS_MAX: usize = 500;

/// The identity of the request without control characters; `None` when nothing is left of it.
pub(crate) fn request_identity(headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(REQUEST_IDENTITY)?.as_bytes();
    let clean = given.iter().copied().filter(|byte| !byte.is_ascii_control());
    let clean: Vec<u8> = clean.take(IDENTITY_BYTES_MAX).collect();
    HeaderValue::from_bytes(&clean).ok().filter(|value| !value.is_empty())
}

/// The user of the platform on whose behalf it asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// As the audit log shows it; empty when it is not known.
    shown: String,
    user: Option<String>,
}

impl Origin {
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Who did it, for the audit log.
    pub(crate) fn behind(&self, caller: &str) -> String {
        if self.shown.is_empty() { caller.to_owned() } else { format!("{caller} for {}", self.shown) }
    }
}

/// Whatever cannot be read is as if it was not sent.
pub(crate) fn originating(headers: &HeaderMap) -> Origin {
    headers.get(ORIGINATING_IDENTITY).and_then(|value| parse(value.to_str().ok()?)).unwrap_or_default()
}

fn parse(text: &str) -> Option<Origin> {
    if text.len() > ORIGIN_BYTES_MAX {
        return None;
    }
    let (platform, encoded) = text.trim().split_once(' ')?;
    let encoded = encoded.trim();
    let decoded = STANDARD.decode(encoded).or_else(|_| URL_SAFE.decode(encoded)).ok()?;
    let fields: Map<String, Value> = serde_json::from_slice(&decoded).ok()?;
    let named = |key: &str| fields.get(key).and_then(Value::as_str).filter(|user| !user.is_empty());
    let user = named("user_id").or(named("username")).map(str::to_owned);
    let shown = format!("{platform} {}", Value::Object(fields));
    let shown = shown.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c });
    Some(Origin { shown: shown.collect(), user })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &[u8]) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_bytes(value).unwrap())])
    }

    #[test]
    fn an_identity_comes_back_without_control_characters() {
        let echo = |value: &[u8]| {
            request_identity(&with(REQUEST_IDENTITY, value)).map(|value| value.as_bytes().to_vec())
        };
        assert_eq!(echo(b"a-1 b"), Some(b"a-1 b".to_vec()));
        assert_eq!(echo(b"a\tb"), Some(b"ab".to_vec()));
        assert_eq!(echo(b"a\xffb"), Some(b"a\xffb".to_vec()));
        assert_eq!(echo(b""), None);
        assert_eq!(echo(b"\t"), None);
        assert_eq!(request_identity(&HeaderMap::new()), None);
    }

    #[test]
    fn an_origin_is_read_leniently() {
        let read = |text: &str| originating(&with(ORIGINATING_IDENTITY, text.as_bytes()));
        let encoded = |json: &str| STANDARD.encode(json);
        let cloudfoundry = read(&format!("cloudfoundry {}", encoded(r#"{"user_id":"u-1"}"#)));
        assert_eq!(cloudfoundry.user(), Some("u-1"));
        assert_eq!(cloudfoundry.behind("ci"), r#"ci for cloudfoundry {"user_id":"u-1"}"#);
        let kubernetes = read(&format!("kubernetes {}", encoded(r#"{"username":"duke","uid":"1"}"#)));
        assert_eq!(kubernetes.user(), Some("duke"));
        let huge = format!("cloudfoundry {}", encoded(&format!(r#"{{"user_id":"{}"}}"#, "u".repeat(9000))));
        for bad in ["", "cloudfoundry", "cloudfoundry !!!", &format!("cf {}", encoded("[1]")), &huge] {
            assert_eq!(read(bad), Origin::default(), "{bad}");
            assert_eq!(read(bad).behind("ci"), "ci");
        }
    }
}
