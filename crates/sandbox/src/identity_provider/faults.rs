//! ID tokens that are wrong on demand, each in one way.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::jwt::SigningKey;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TokenFault {
    /// Of another sign-in.
    Nonce,
    /// For another client.
    Audience,
    /// For several, and asked for by another one.
    Party,
    Issuer,
    /// Long ago.
    Expired,
    /// Of another token.
    Signature,
    /// It says that it needs no signature, and has none.
    Unsigned,
}

impl TokenFault {
    /// What is wrong before the token is signed.
    pub(super) fn spoil(self, claims: &mut Value) {
        let ago = |claim: &Value| claim.as_i64().map(|at| at - 2 * 3600);
        match self {
            TokenFault::Nonce => claims["nonce"] = json!("of-another-sign-in"),
            TokenFault::Audience => claims["aud"] = json!("another-client"),
            TokenFault::Party => {
                claims["aud"] = json!([claims["aud"], "another-client"]);
                claims["azp"] = json!("another-client");
            }
            TokenFault::Issuer => claims["iss"] = json!("https://elsewhere.example.com"),
            TokenFault::Expired => {
                claims["iat"] = json!(ago(&claims["iat"]));
                claims["exp"] = json!(ago(&claims["exp"]));
            }
            TokenFault::Signature | TokenFault::Unsigned => {}
        }
    }

    pub(super) fn sign(self, claims: &Value, key: &SigningKey) -> String {
        let good = key.sign(claims);
        let signed = good.rsplit_once('.').map_or("", |(signed, _)| signed);
        match self {
            TokenFault::Signature => {
                let other = key.sign(&json!({"sub": "another token"}));
                format!("{signed}.{}", other.rsplit('.').next().unwrap_or_default())
            }
            TokenFault::Unsigned => {
                let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
                let header = json!({"alg": "none", "typ": "JWT", "kid": key.jwk().common.key_id});
                format!("{}.{}.", part(&header), part(claims))
            }
            _ => good,
        }
    }
}
