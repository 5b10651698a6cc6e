//! Two headers with which a caller says more: that the same request must not count twice, and that it does not
//! want to wait.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::ServerlessState;
use server::http::{Failure, idempotency_key};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What the headers say beyond who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestOptions {
    pub(crate) key: Option<RequestKey>,
    /// The answer may come before the work is done.
    pub(crate) is_async: bool,
}

/// The same key with the same body means the same runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestKey(pub(crate) String);

impl FromRequestParts<ServerlessState> for RequestOptions {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut Parts,
        _shared: &ServerlessState,
    ) -> Result<RequestOptions, Failure> {
        Ok(RequestOptions {
            key: idempotency_key(&parts.headers)?.map(RequestKey),
            is_async: is_async(&parts.headers),
        })
    }
}

impl RequestKey {
    /// A name for what this caller asked for with this key, and the same one when it is asked again.
    pub(crate) fn name(&self, tenant: &str, body: &str) -> Uuid {
        let mut digest = Sha256::new();
        for part in [tenant, self.0.as_str(), body] {
            digest.update(part.len().to_be_bytes());
            digest.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.finalize()[..16]);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

/// Preferences that are unknown are ignored, as their specification demands.
fn is_async(headers: &HeaderMap) -> bool {
    let texts = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut preferences = texts.flat_map(|text| text.split(','));
    preferences.any(|preference| preference.trim().eq_ignore_ascii_case("respond-async"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().fold(HeaderMap::new(), |mut all, value| {
            all.append(name.clone(), value.parse().unwrap());
            all
        })
    }

    #[test]
    fn only_respond_async_is_a_preference() {
        let read = |values: &[&str]| is_async(&headers(&PREFER, values));
        assert!(
            read(&["respond-async"]) && read(&["wait=5, Respond-Async "]) && read(&["a", "respond-async"])
        );
        assert!(!read(&[]) && !read(&["respond-asynchronously"]) && !read(&["wait=5"]));
    }

    #[test]
    fn a_name_is_of_the_caller_the_key_and_the_body_together() {
        let name = |tenant: &str, key: &str, body: &str| RequestKey(key.into()).name(tenant, body);
        assert_eq!(name("a", "b", "c"), name("a", "b", "c"));
        for (tenant, key, body) in [("x", "b", "c"), ("a", "x", "c"), ("a", "b", "x"), ("ab", "", "c")] {
            assert_ne!(name("a", "b", "c"), name(tenant, key, body));
        }
    }
}
