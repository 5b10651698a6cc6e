//! The programs that may let people sign in here: one without a secret, and one with.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OidcClient {
    pub(super) id: &'static str,
    /// It is no secret: only users of this machine can ask.
    secret: Option<&'static str>,
}

const CLIENTS: [OidcClient; 2] = [
    OidcClient { id: "provision-engine-console", secret: None },
    OidcClient { id: "provision-engine-console-with-secret", secret: Some("sandbox+secret%") },
];

impl OidcClient {
    pub(super) fn find(id: &str) -> Option<OidcClient> {
        CLIENTS.into_iter().find(|client| client.id == id)
    }

    /// The client that makes a call: it says its name, and proves it if it has a secret.
    pub(super) fn of(headers: &HeaderMap, named: Option<&str>) -> Option<OidcClient> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return OidcClient::find(named?).filter(|client| client.secret.is_none());
        };
        let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
        let decoded =
            STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
        let decoded = String::from_utf8(decoded).ok()?;
        let (id, secret) = decoded.split_once(':')?;
        let client = OidcClient::find(&form_decoded(id)?)?;
        let is_same = named.is_none_or(|named| named == client.id);
        (is_same && client.secret == Some(form_decoded(secret)?.as_str())).then_some(client)
    }
}

/// Both are encoded like fields of a form before they become a header.
fn form_decoded(text: &str) -> Option<String> {
    let url = Url::parse(&format!("http://localhost/?text={text}")).ok()?;
    let mut pairs = url.query_pairs();
    let (_, value) = pairs.next()?;
    pairs.next().is_none().then(|| value.into_owned())
}

/// An address on this machine, where people may be sent.
pub(super) fn loopback_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
    let is_here =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (matches!(url.scheme(), "http" | "https") && is_here && is_plain).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(authorization: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, authorization.parse().unwrap())])
    }

    #[test]
    fn a_client_with_a_secret_has_to_prove_itself_and_one_without_must_not_pretend() {
        let basic = |text: &str| headers(&format!("Basic {}", STANDARD.encode(text)));
        let id = |headers: &HeaderMap, named| OidcClient::of(headers, named).map(|client| client.id);
        let (open, closed) = ("provision-engine-console", "provision-engine-console-with-secret");
        assert_eq!(id(&HeaderMap::new(), Some(open)), Some(open));
        assert_eq!(id(&HeaderMap::new(), Some(closed)), None);
        assert_eq!(id(&HeaderMap::new(), Some("stranger")), None);
        assert_eq!(id(&HeaderMap::new(), None), None);
        let good = basic(&format!("{closed}:sandbox%2Bsecret%25"));
        assert_eq!(id(&good, None), Some(closed));
        assert_eq!(id(&good, Some(closed)), Some(closed));
        assert_eq!(id(&good, Some(open)), None);
        for bad in [
            basic(&format!("{closed}:wrong")),
            basic(&format!("{closed}:sandbox+secret%")),
            basic(&format!("{closed}:")),
            basic(&format!("{open}:")),
            headers(&format!("Bearer {}", STANDARD.encode(format!("{closed}:sandbox%2Bsecret%25")))),
            headers("Basic !"),
        ] {
            assert_eq!(id(&bad, None), None, "{bad:?}");
        }
    }

    #[test]
    fn people_are_only_sent_to_this_machine() {
        for good in ["http://127.0.0.1:1/a?b=c", "https://localhost/", "http://[::1]:80/x"] {
            assert!(loopback_url(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/here",
            "javascript:alert(1)",
            "http://example.com",
            "http://localhost.example.com",
            "http://127.0.0.1@example.com/",
            "http://me@127.0.0.1/",
            "http://127.0.0.1/#x",
        ] {
            assert!(loopback_url(bad).is_none(), "{bad}");
        }
    }
}
