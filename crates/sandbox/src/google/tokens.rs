//! Tokens: the exchange of a signed assertion, tokens of other service accounts, and assertions used as tokens.

use std::collections::HashMap;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::account_key::AccountKey;
use super::call_error::GceError;
use crate::delays::later;

/// The service account of the program under test.
pub(super) const EMAIL: &str = "provision-engine@sandbox.iam.gserviceaccount.com";

/// Service accounts of this domain can be acted for.
const DOMAIN: &str = "@sandbox.iam.gserviceaccount.com";
const AUDIENCE: &str = "https://oauth2.googleapis.com/token";
const SELF_SIGNED_FOR: &str = "https://compute.googleapis.com/";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const LIFE_SECONDS: i64 = 3600;
const TOKENS_MAX: usize = 10_000;
/// A clock may be a little ahead.
const SKEW_SECONDS: i64 = 60;

/// What the token service answers in place of a token.
#[derive(Debug)]
pub(super) struct TokenError {
    pub(super) error: &'static str,
    pub(super) description: String,
}

fn invalid_grant(description: impl Into<String>) -> TokenError {
    TokenError { error: "invalid_grant", description: description.into() }
}

#[derive(Debug, Default)]
pub(super) struct GoogleTokens {
    given: HashMap<String, (String, OffsetDateTime)>,
}

impl GoogleTokens {
    fn give(&mut self, email: &str, now: OffsetDateTime) -> String {
        self.given.retain(|_, (_, ends)| *ends > now);
        if self.given.len() >= TOKENS_MAX {
            self.given.clear();
        }
        let token = format!("ya29.{}", Uuid::now_v7().simple());
        self.given.insert(token.clone(), (email.to_owned(), later(now, LIFE_SECONDS.unsigned_abs() * 1000)));
        token
    }

    /// Forgets all of them, as if keys had been changed.
    pub(super) fn revoke(&mut self) {
        self.given.clear();
    }

    pub(super) fn exchange(
        &mut self,
        form: &[u8],
        url: &str,
        now: OffsetDateTime,
    ) -> Result<Value, TokenError> {
        let pairs: HashMap<String, String> = form_pairs(form);
        if pairs.get("grant_type").map(String::as_str) != Some(GRANT) {
            return Err(TokenError {
                error: "unsupported_grant_type",
                description: "Invalid grant_type".to_owned(),
            });
        }
        let assertion = pairs.get("assertion").ok_or_else(|| invalid_grant("Missing assertion"))?;
        let claims = verified(assertion).map_err(invalid_grant)?;
        if claims["aud"] != AUDIENCE && claims["aud"] != url {
            return Err(invalid_grant(format!(
                "Invalid JWT: Failed audience check. The right audience is {AUDIENCE}"
            )));
        }
        let (iat, exp) =
            (claims["iat"].as_i64().unwrap_or(i64::MAX), claims["exp"].as_i64().unwrap_or_default());
        let real = OffsetDateTime::now_utc().unix_timestamp();
        if exp < real || iat > real + SKEW_SECONDS || exp - iat > LIFE_SECONDS {
            let why =
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.";
            return Err(invalid_grant(why));
        }
        if claims["scope"].as_str().is_none_or(str::is_empty) {
            return Err(TokenError {
                error: "invalid_scope",
                description: "Empty or missing scope".to_owned(),
            });
        }
        let email = claims["iss"].as_str().unwrap_or_default().to_owned();
        let token = self.give(&email, now);
        Ok(json!({"access_token": token, "expires_in": LIFE_SECONDS - 1, "token_type": "Bearer"}))
    }

    /// A token of another service account, for a caller that may act for it.
    pub(super) fn impersonate(&mut self, email: &str, now: OffsetDateTime) -> Result<Value, GceError> {
        if !email.ends_with(DOMAIN) {
            let path = format!("projects/-/serviceAccounts/{email}");
            return Err(GceError::forbidden("iam.serviceAccounts.getAccessToken", &path));
        }
        let token = self.give(email, now);
        let ends = later(now, LIFE_SECONDS.unsigned_abs() * 1000).format(&Rfc3339).unwrap_or_default();
        Ok(json!({"accessToken": token, "expireTime": ends}))
    }

    /// Which service account calls.
    pub(super) fn caller(&self, headers: &HeaderMap, now: OffsetDateTime) -> Result<String, GceError> {
        let refused = |why: &str| {
            let message = format!("Request had invalid authentication credentials: {why}.");
            GceError::new(401, "authError", message)
        };
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = header.and_then(|header| header.strip_prefix("Bearer ")) else {
            return Err(GceError::new(401, "required", "Login Required."));
        };
        if let Some((email, ends)) = self.given.get(token) {
            return if now < *ends { Ok(email.clone()) } else { Err(refused("the token has expired")) };
        }
        let claims = verified(token).map_err(|why| refused(&why))?;
        let is_meant = claims["aud"] == SELF_SIGNED_FOR || claims["scope"].is_string();
        let is_fresh =
            claims["exp"].as_i64().unwrap_or_default() >= OffsetDateTime::now_utc().unix_timestamp();
        match claims["iss"].as_str() {
            Some(email) if is_meant && is_fresh && claims["sub"] == claims["iss"] => Ok(email.to_owned()),
            _ => Err(refused("the assertion is not meant for this service")),
        }
    }
}

/// The claims of an assertion that the known key signed.
fn verified(assertion: &str) -> Result<Value, String> {
    let header = jsonwebtoken::decode_header(assertion).map_err(|_| "Invalid JWT".to_owned())?;
    let Some(key) = AccountKey::existing().filter(|key| header.kid.as_deref() == Some(key.id.as_str()))
    else {
        return Err("Invalid JWT Signature.".to_owned());
    };
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let claims = jsonwebtoken::decode::<Value>(assertion, &key.public, &validation);
    let claims = claims.map_err(|_| "Invalid JWT Signature.".to_owned())?.claims;
    if claims["iss"] == EMAIL { Ok(claims) } else { Err("account not found".to_owned()) }
}

fn form_pairs(form: &[u8]) -> HashMap<String, String> {
    let text = format!("http://form/?{}", String::from_utf8_lossy(form));
    let url = reqwest::Url::parse(&text);
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}
