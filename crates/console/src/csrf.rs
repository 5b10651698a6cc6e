//! Proves that a form was ours: it carries a token that only a page made for this browser can know. Every page has
//! another one, so that the size of a compressed page reveals nothing.

use std::fmt;

use askama::filters::HtmlSafe;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The name of the token in every form.
pub(crate) const CSRF_FIELD: &str = "_csrf";
const NONCE_BYTES: usize = 12;
const PROOF_BYTES: usize = 16;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The hidden field that every form needs, as a template prints it. [`Fields`](crate::Fields) refuses a form without it.
#[derive(Debug, Clone)]
pub struct CsrfToken(String);

impl CsrfToken {
    /// For the forms of one page. `secret` is what the browser holds in a cookie.
    pub(crate) fn new(secret: &str) -> CsrfToken {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        CsrfToken(URL_SAFE_NO_PAD.encode([&nonce[..], &proof(secret, &nonce)].concat()))
    }
}

impl fmt::Display for CsrfToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"<input type="hidden" name="{CSRF_FIELD}" value="{}">"#, self.0)
    }
}

impl HtmlSafe for CsrfToken {}

pub(crate) fn is_good(secret: &str, token: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return false };
    let Some((nonce, presented)) = bytes.split_at_checked(NONCE_BYTES) else { return false };
    proof(secret, nonce).ct_eq(presented).into()
}

fn proof(secret: &str, nonce: &[u8]) -> [u8; PROOF_BYTES] {
    let digest = Sha256::new()
        .chain_update(b"provision-engine form\0")
        .chain_update(nonce)
        .chain_update(secret.as_bytes())
        .finalize();
    let mut proof = [0; PROOF_BYTES];
    proof.copy_from_slice(&digest[..PROOF_BYTES]);
    proof
}

/// Whether the browser says that a request comes from our own pages, as far as it says anything.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text(SEC_FETCH_SITE).is_none_or(|site| site == "same-origin" || site == "none");
    let origin = match (headers.contains_key(ORIGIN), text(ORIGIN), text(HOST)) {
        (false, ..) => true,
        (true, Some(origin), Some(host)) => origin.split_once("://").is_some_and(|(_, at)| at == host),
        (true, ..) => false,
    };
    site && origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_browser_alone_and_never_the_same() {
        let (one, other) = (CsrfToken::new("secret").0, CsrfToken::new("secret").0);
        assert_ne!(one, other);
        assert!(is_good("secret", &one) && is_good("secret", &other));
        assert!(!is_good("secret2", &one));
        let mut forged = one.clone();
        forged.replace_range(0..1, if one.starts_with('A') { "B" } else { "A" });
        for bad in ["", "AAAA", "!", forged.as_str(), &one[..one.len() - 4]] {
            assert!(!is_good("secret", bad), "{bad}");
        }
    }

    #[test]
    fn what_a_browser_says_about_the_sender_counts() {
        let from = |pairs: &[(&'static str, &str)]| {
            let headers: HeaderMap = pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            is_from_here(&headers)
        };
        assert!(from(&[]));
        assert!(from(&[("origin", "http://a:1"), ("host", "a:1"), ("sec-fetch-site", "same-origin")]));
        assert!(!from(&[("origin", "http://b"), ("host", "a")]));
        assert!(!from(&[("origin", "null"), ("host", "a")]));
        assert!(!from(&[("origin", "http://a")]), "no header names this server");
        assert!(!from(&[("sec-fetch-site", "cross-site")]));
        assert!(!from(&[("sec-fetch-site", "same-site")]));
    }
}
