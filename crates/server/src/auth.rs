//! From a credential to its principal: tokens of this server by their digest, remembered for a few seconds, bearers of
//! an issuer, and sessions of the console.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use engine::store::StoreError;
use engine::{Proof, SessionRow, Timestamp, TokenRow};
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use crate::app_state::AppState;
use crate::error;
use crate::http::{Failure, TtlCache};
use crate::principal::Principal;
use crate::tokens::{digest, looks_like_a_token};

/// A thousand calls with one token are not a thousand queries. A token that was deleted by another node is
/// good for this long at most; a deletion by this node counts at once.
const REMEMBERED: Duration = Duration::from_secs(5);
/// A header that is longer holds no token of ours, and an issuer's tokens are shorter too.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Verifies bearer tokens that this server did not issue, such as those of an identity provider.
#[async_trait]
pub trait Bearers: Send + Sync + 'static {
    async fn verify(&self, token: &str) -> Result<Principal, AuthError>;
}

/// Why a credential is refused. The texts never hold any of what was presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthError {
    /// It is not good, and why.
    Refused(String),
    /// It cannot be checked now.
    Unavailable(StoreError),
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> AuthError {
        AuthError::Unavailable(error)
    }
}

/// Tokens that were good a moment ago, by their digest. Bad ones are never kept, so that guessing cannot fill
/// it.
pub type TokenCache = TtlCache<String, TokenRow>;

/// The principal of a request. A database that does not answer says nothing about the token: that is a 503, never a
/// 401.
pub async fn authenticate(app: &AppState, headers: &HeaderMap) -> Result<Principal, Failure> {
    let token = match bearer_token(headers) {
        BearerToken::Missing => {
            return Err(error::unauthenticated("send the header Authorization: Bearer <token>", false));
        }
        BearerToken::Found(token) if looks_like_a_token(token) || app.bearers.is_some() => token,
        BearerToken::Found(_) | BearerToken::Unreadable => {
            let detail = "the Authorization header has no token in the form pe_…";
            return Err(error::unauthenticated(detail, true));
        }
    };
    principal_of(app, token).await.map_err(|denied| match denied {
        AuthError::Refused(why) => error::unauthenticated(&why, true),
        AuthError::Unavailable(error) => error.into(),
    })
}

/// The principal of a token, of this server or of an issuer.
pub async fn principal_of(app: &AppState, token: &str) -> Result<Principal, AuthError> {
    if looks_like_a_token(token) {
        return own(app, &digest(token)).await.map(Principal::of_token);
    }
    let asked = app.bearers.as_ref().ok_or_else(unknown)?.verify(token);
    timeout(app.settings.request_timeout, asked).await.unwrap_or_else(|_| Err(too_slow().into()))
}

/// The principal of a session, for as long as the proof holds that opened it. `None` when it holds no longer.
pub async fn resume(app: &AppState, row: &SessionRow) -> Result<Option<Principal>, StoreError> {
    let now = app.engine.now();
    match &row.proof {
        Proof::Token { digest } => match own(app, digest).await {
            Ok(token) => Ok(Some(Principal::of_token(token))),
            Err(AuthError::Refused(_)) => Ok(None),
            Err(AuthError::Unavailable(error)) => Err(error),
        },
        Proof::Password { digest: before } => {
            let user = app.people.find_user(&row.user).await?;
            let same = user.filter(|user| digest(&user.hash).as_bytes().ct_eq(before.as_bytes()).into());
            Ok(same.as_ref().map(Principal::of_user))
        }
        Proof::Bearer { expires_at } => Ok((now < *expires_at).then(|| Principal::of_session(row))),
        Proof::CodeFlow => Ok(Some(Principal::of_session(row))),
        Proof::Header => Ok(None),
    }
}

fn unknown() -> AuthError {
    AuthError::Refused("this token is not known here".into())
}

/// The token of this server with this digest, if it is good now.
async fn own(app: &AppState, digest: &str) -> Result<TokenRow, AuthError> {
    let now = app.engine.now();
    let row = match app.tokens.find(digest, now, REMEMBERED) {
        Some(row) => row,
        None => look_up(app, digest, now).await?.ok_or_else(unknown)?,
    };
    if row.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(AuthError::Refused("this token has expired; ask an admin for a new one".into()));
    }
    Ok(row)
}

async fn look_up(app: &AppState, digest: &str, now: Timestamp) -> Result<Option<TokenRow>, StoreError> {
    let asked = timeout(app.settings.request_timeout, app.access.find_token(digest)).await;
    let found = asked.unwrap_or_else(|_| Err(too_slow()))?;
    let found = found.filter(|row| row.digest.as_bytes().ct_eq(digest.as_bytes()).into());
    if let Some(row) = &found {
        app.tokens.keep(row.digest.clone(), row.clone(), now, REMEMBERED);
    }
    Ok(found)
}

fn too_slow() -> StoreError {
    StoreError::Unavailable("it took too long".into())
}

/// What the header `Authorization` of a request holds.
pub enum BearerToken<'a> {
    Missing,
    /// It is there twice, too long, or no bearer token.
    Unreadable,
    Found(&'a str),
}

pub fn bearer_token(headers: &HeaderMap) -> BearerToken<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return BearerToken::Missing };
    let text = value.to_str().ok().filter(|text| text.len() <= HEADER_BYTES_MAX && values.next().is_none());
    let token = text.and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    });
    token.map_or(BearerToken::Unreadable, BearerToken::Found)
}

#[cfg(test)]
mod tests {
    use engine::Role;

    use super::*;

    #[test]
    fn a_token_is_remembered_for_a_few_seconds_and_never_longer() {
        let (name, role, platform, created_at) = ("a".to_owned(), Role::Reader, None, Timestamp(0));
        let row = TokenRow {
            grants: Vec::new(),
            digest: digest(&name),
            name,
            role,
            platform,
            created_at,
            expires_at: None,
        };
        let at = |seconds: u64| Timestamp(0).plus(Duration::from_secs(seconds));
        let cache = TokenCache::default();
        cache.keep(row.digest.clone(), row.clone(), at(10), REMEMBERED);
        assert!(cache.find(&row.digest, at(14), REMEMBERED).is_some());
        assert!(cache.find(&row.digest, at(15), REMEMBERED).is_none());
        cache.forget(|row| row.name == "a");
        assert!(cache.find(&row.digest, at(10), REMEMBERED).is_none());
    }
}
