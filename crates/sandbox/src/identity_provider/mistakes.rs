//! ID tokens that are wrong on demand, each in one way.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Provider;
use crate::answer::{JsonBody, Refusal};
use crate::jwt::SigningKey;

const LINED_UP_MAX: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mistake {
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

impl Mistake {
    /// What is wrong before the token is signed.
    pub(super) fn spoil(self, claims: &mut Value) {
        let ago = |claim: &Value| claim.as_i64().map(|at| at - 2 * 3600);
        match self {
            Mistake::Nonce => claims["nonce"] = json!("of-another-sign-in"),
            Mistake::Audience => claims["aud"] = json!("another-client"),
            Mistake::Party => {
                claims["aud"] = json!([claims["aud"], "another-client"]);
                claims["azp"] = json!("another-client");
            }
            Mistake::Issuer => claims["iss"] = json!("https://elsewhere.example.com"),
            Mistake::Expired => {
                claims["iat"] = json!(ago(&claims["iat"]));
                claims["exp"] = json!(ago(&claims["exp"]));
            }
            Mistake::Signature | Mistake::Unsigned => {}
        }
    }

    pub(super) fn sign(self, claims: &Value, key: &SigningKey) -> String {
        let good = key.sign(claims);
        let signed = good.rsplit_once('.').map_or("", |(signed, _)| signed);
        match self {
            Mistake::Signature => {
                let other = key.sign(&json!({"sub": "another token"}));
                format!("{signed}.{}", other.rsplit('.').next().unwrap_or_default())
            }
            Mistake::Unsigned => {
                let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
                let header = json!({"alg": "none", "typ": "JWT", "kid": key.jwk().common.key_id});
                format!("{}.{}.", part(&header), part(claims))
            }
            _ => good,
        }
    }
}

/// In the order in which they are made.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Mutex<Vec<Lined>>);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lined {
    mistake: Mistake,
    /// How many tokens; 0 means all until it is cleared.
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

impl Mistakes {
    pub(super) fn next(&self) -> Option<Mistake> {
        let mut lined = self.lined();
        let first = lined.first_mut()?;
        let mistake = first.mistake;
        if first.times == 1 {
            lined.remove(0);
        } else {
            first.times = first.times.saturating_sub(1);
        }
        Some(mistake)
    }

    fn lined(&self) -> MutexGuard<'_, Vec<Lined>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn list(State(provider): Provider) -> Json<Value> {
    Json(json!({"mistakes": *provider.mistakes.lined()}))
}

pub(super) async fn add(
    State(provider): Provider,
    JsonBody(body): JsonBody<Lined>,
) -> Result<StatusCode, Refusal> {
    let mut lined = provider.mistakes.lined();
    if lined.len() >= LINED_UP_MAX {
        return Err(Refusal::bad_request(format!("at most {LINED_UP_MAX} mistakes can be lined up")));
    }
    lined.push(body);
    Ok(StatusCode::CREATED)
}

pub(super) async fn clear(State(provider): Provider) -> StatusCode {
    provider.mistakes.lined().clear();
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::Mistake::{Expired, Issuer, Nonce};
    use super::*;

    #[test]
    fn mistakes_are_made_in_order_and_as_often_as_asked() {
        let mistakes = Mistakes::default();
        mistakes.lined().extend([
            Lined { mistake: Nonce, times: 2 },
            Lined { mistake: Issuer, times: 1 },
            Lined { mistake: Expired, times: 0 },
        ]);
        let made: Vec<Mistake> = (0..6).filter_map(|_| mistakes.next()).collect();
        assert_eq!(made, [Nonce, Nonce, Issuer, Expired, Expired, Expired]);
    }
}
