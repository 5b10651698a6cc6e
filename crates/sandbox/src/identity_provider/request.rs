//! What a client asks for when it sends a client here, and what is wrong with it.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest, Sha256};

use super::clients::{OidcClient, loopback_url};

const VALUE_BYTES_MAX: usize = 2048;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationRequest {
    pub(super) client_id: &'static str,
    /// As it was written: the client has to repeat it word for word.
    pub(super) redirect_uri: String,
    pub(super) scopes: Vec<String>,
    pub(super) nonce: Option<String>,
    state: Option<String>,
    challenge: String,
}

/// Who hears that something is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AuthorizationError {
    /// The person: it is unknown whether the client may hear anything.
    Here(&'static str),
    /// The client, to which the person goes back.
    Back(String),
}

impl AuthorizationRequest {
    pub(super) fn read(fields: &HashMap<String, String>) -> Result<AuthorizationRequest, AuthorizationError> {
        let text = |name: &str| fields.get(name).map(String::as_str);
        if fields.values().any(|value| value.len() > VALUE_BYTES_MAX) {
            return Err(AuthorizationError::Here("a parameter is too long"));
        }
        let client = text("client_id").and_then(OidcClient::find);
        let client = client
            .ok_or(AuthorizationError::Here("the parameter client_id names no client that is known here"))?;
        let redirect_uri = text("redirect_uri").filter(|uri| loopback_url(uri).is_some());
        let redirect_uri = redirect_uri
            .ok_or(AuthorizationError::Here("the parameter redirect_uri is not an address on this machine"))?
            .to_owned();
        let state = text("state").map(str::to_owned);
        let back = |error, description| {
            let told = [("error", error), ("error_description", description)];
            AuthorizationError::Back(way_back(&redirect_uri, &told, state.as_deref()))
        };
        if text("response_type") != Some("code") {
            return Err(back("unsupported_response_type", "the only response_type is code"));
        }
        let scopes: Vec<String> =
            text("scope").unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
        if !scopes.iter().any(|scope| scope == "openid") {
            return Err(back("invalid_scope", "the scope openid is needed"));
        }
        if text("code_challenge_method") != Some("S256") {
            return Err(back("invalid_request", "the only code_challenge_method is S256"));
        }
        let is_challenge = |given: &&str| {
            URL_SAFE_NO_PAD.decode(given).is_ok_and(|digest| digest.len() == Sha256::output_size())
        };
        let Some(challenge) = text("code_challenge").filter(is_challenge).map(str::to_owned) else {
            return Err(back("invalid_request", "code_challenge is not a SHA-256 in base64url"));
        };
        let nonce = text("nonce").map(str::to_owned);
        Ok(AuthorizationRequest { client_id: client.id, redirect_uri, scopes, nonce, state, challenge })
    }

    pub(super) fn back_with(&self, told: &[(&str, &str)]) -> String {
        way_back(&self.redirect_uri, told, self.state.as_deref())
    }

    pub(super) fn is_proved_by(&self, verifier: &str) -> bool {
        let is_long_enough = (43..=128).contains(&verifier.len());
        is_long_enough && URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == self.challenge
    }
}

/// Where the client waits, told something.
pub(super) fn way_back(uri: &str, told: &[(&str, &str)], state: Option<&str>) -> String {
    if told.is_empty() && state.is_none() {
        return uri.to_owned();
    }
    let mut url = Url::parse(uri).expect("it was parsed before");
    url.query_pairs_mut().extend_pairs(told).extend_pairs(state.map(|state| ("state", state)));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(change: &[(&str, Option<&str>)]) -> Result<AuthorizationRequest, AuthorizationError> {
        let mut fields: HashMap<String, String> = [
            ("response_type", "code"),
            ("client_id", "provision-engine-console"),
            ("redirect_uri", "http://127.0.0.1:9/back?a=b"),
            ("scope", "openid groups"),
            ("state", "s &"),
            ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
            ("code_challenge_method", "S256"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        for (name, value) in change {
            fields.remove(*name);
            fields.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
        }
        AuthorizationRequest::read(&fields)
    }

    #[test]
    fn a_client_proves_with_its_verifier_that_it_asked() {
        let asked = asked(&[]).unwrap();
        assert!(asked.is_proved_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert!(!asked.is_proved_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"));
        assert!(!asked.is_proved_by("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert_eq!(asked.back_with(&[("code", "c")]), "http://127.0.0.1:9/back?a=b&code=c&state=s+%26");
    }

    #[test]
    fn who_may_hear_of_a_mistake_hears_of_it() {
        for (name, value) in [
            ("client_id", None),
            ("client_id", Some("stranger")),
            ("redirect_uri", None),
            ("redirect_uri", Some("https://example.com/")),
            ("nonce", Some("x".repeat(VALUE_BYTES_MAX + 1).as_str())),
        ] {
            let wrong = asked(&[(name, value)]).unwrap_err();
            assert!(matches!(wrong, AuthorizationError::Here(_)), "{name}={value:?}: {wrong:?}");
        }
        for (name, value, error) in [
            ("response_type", Some("token"), "unsupported_response_type"),
            ("response_type", None, "unsupported_response_type"),
            ("scope", Some("groups openid2"), "invalid_scope"),
            ("scope", None, "invalid_scope"),
            ("code_challenge_method", Some("plain"), "invalid_request"),
            ("code_challenge_method", None, "invalid_request"),
            ("code_challenge", Some("short"), "invalid_request"),
            ("code_challenge", None, "invalid_request"),
        ] {
            let wrong = asked(&[(name, value)]).unwrap_err();
            let expected = format!("http://127.0.0.1:9/back?a=b&error={error}&error_description=");
            let is_told = matches!(&wrong, AuthorizationError::Back(way) if way.starts_with(&expected));
            assert!(is_told, "{name}={value:?}: {wrong:?}");
        }
    }
}
