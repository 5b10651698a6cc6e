//! `ETag` and `If-None-Match`.

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use server::http::Failure;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// More than enough to tell any two documents apart.
const ETAG_BYTES: usize = 16;

/// A JSON document and the name of exactly this version of it.
#[derive(Clone)]
pub(crate) struct TaggedDocument {
    body: Bytes,
    etag: String,
}

impl TaggedDocument {
    pub(crate) fn new(name: &str, content: &impl Serialize) -> Result<TaggedDocument, Failure> {
        let body = serde_json::to_vec(content).map_err(|error| {
            tracing::error!(%error, name, "serializing a document failed");
            Failure::internal()
        })?;
        let digest = Sha256::digest(&body);
        let etag = digest
            .iter()
            .take(ETAG_BYTES)
            .fold(format!("\"pb-{name}-"), |etag, byte| format!("{etag}{byte:02x}"));
        Ok(TaggedDocument { body: body.into(), etag: etag + "\"" })
    }

    /// The document, or 304 for a client that has it.
    pub(crate) fn answer(&self, headers: &HeaderMap, max_age: Duration) -> Response {
        let header = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""));
        let caching =
            [(ETAG, header(&self.etag)), (CACHE_CONTROL, header(&format!("max-age={}", max_age.as_secs())))];
        if has(headers, &self.etag) {
            return (StatusCode::NOT_MODIFIED, caching).into_response();
        }
        let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (caching, json, self.body.clone()).into_response()
    }
}

/// Whether `If-None-Match` names exactly this version. A proxy may have made it a weak name.
pub(crate) fn has(headers: &HeaderMap, etag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut names = lists.flat_map(|list| list.split(',')).map(str::trim);
    names.any(|name| name == "*" || name.strip_prefix("W/").unwrap_or(name) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_name_of_a_version_matches() {
        let document = TaggedDocument::new("things", &["a"]).unwrap();
        let other = TaggedDocument::new("things", &["b"]).unwrap();
        assert_ne!(document.etag, other.etag);
        let etag = document.etag.as_str();
        let sent =
            |value: &str| HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_str(value).unwrap())]);
        for good in [etag, &format!("W/{etag}"), &format!("\"x\", {etag}"), "*"] {
            assert!(has(&sent(good), etag), "{good}");
        }
        let bare = etag.trim_matches('"');
        for bad in [bare, &format!("\"x{bare}\""), &format!("\"{bare}x\""), &other.etag, "", "\"\""] {
            assert!(!has(&sent(bad), etag), "{bad}");
        }
        assert!(!has(&HeaderMap::new(), etag));
    }
}
