//! Who knocks: a bearer token is looked up by its digest, and remembered for a few seconds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use engine::store::StoreError;
use engine::{Role, Timestamp, TokenRow};
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use crate::hall::Hall;
use crate::problem::Problem;
use crate::tokens::{digest, looks_like_a_token};

/// A thousand calls with one token are not a thousand queries. A token that was deleted by another node is
/// good for this long at most; a deletion by this node counts at once.
const REMEMBERED: Duration = Duration::from_secs(5);
const REMEMBERED_MAX: usize = 1024;

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the token.
    pub name: String,
    pub role: Role,
}

/// Knows who stands behind a bearer token that is not one of ours, such as one of an identity provider.
#[async_trait]
pub trait Bearers: Send + Sync + 'static {
    async fn verify(&self, token: &str) -> Result<Caller, Denied>;

    /// The same for a door whose callers belong to organisations: all that the token says, and no role is needed.
    async fn member(&self, token: &str) -> Result<Member, Denied>;
}

/// Somebody of an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// All that they have.
    pub roles: Vec<Role>,
    /// The id of the organisation, if the token says so.
    pub org: Option<String>,
    /// What they may do, if the token says so; otherwise the roles say it.
    pub permissions: Option<Vec<String>>,
}

/// Why somebody is not let in. The texts never hold any of what was presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// It is not good, and why.
    Refused(String),
    /// Nobody can tell now.
    Unavailable(StoreError),
}

impl From<StoreError> for Denied {
    fn from(error: StoreError) -> Denied {
        Denied::Unavailable(error)
    }
}

/// Tokens that were good a moment ago, by their digest. Bad ones are never kept, so that guessing cannot fill
/// it.
#[derive(Default)]
pub(crate) struct TokenCache(Mutex<HashMap<String, Seen>>);

struct Seen {
    row: TokenRow,
    at: Timestamp,
}

impl Seen {
    /// A clock that was set back makes an entry from the future, which counts for nothing.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.at <= now && now.since(self.at) < REMEMBERED
    }
}

impl TokenCache {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, digest: &str, now: Timestamp) -> Option<TokenRow> {
        self.open().get(digest).filter(|seen| seen.is_fresh(now)).map(|seen| seen.row.clone())
    }

    fn keep(&self, row: TokenRow, now: Timestamp) {
        let mut seen = self.open();
        if seen.len() >= REMEMBERED_MAX {
            seen.retain(|_, seen| seen.is_fresh(now));
        }
        if seen.len() >= REMEMBERED_MAX {
            seen.clear();
        }
        seen.insert(row.digest.clone(), Seen { row, at: now });
    }

    /// Forgets a token that is no longer good.
    pub(crate) fn forget(&self, name: &str) {
        self.open().retain(|_, seen| seen.row.name != name);
    }
}

/// Finds out who makes the request. A database that does not answer says nothing about the token: that is a
/// 503, never a 401.
pub(crate) async fn authenticate(hall: &Hall, headers: &HeaderMap) -> Result<Caller, Problem> {
    let token = presented(hall, headers)?;
    identify(hall, token).await.map_err(|denied| match denied {
        Denied::Refused(why) => Problem::unauthenticated(&why, true),
        Denied::Unavailable(error) => error.into(),
    })
}

/// Whose token this is: one of ours, or one that somebody else vouches for.
pub(crate) async fn identify(hall: &Hall, token: &str) -> Result<Caller, Denied> {
    let unknown = || Denied::Refused("this token is not known here".into());
    if !looks_like_a_token(token) {
        let asked = hall.bearers.as_ref().ok_or_else(unknown)?.verify(token);
        return timeout(hall.settings.request_timeout, asked)
            .await
            .unwrap_or_else(|_| Err(too_slow().into()));
    }
    let digest = digest(token);
    let now = hall.engine.now();
    let row = match hall.tokens.find(&digest, now) {
        Some(row) => row,
        None => look_up(hall, &digest, now).await?.ok_or_else(unknown)?,
    };
    if row.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(Denied::Refused("this token has expired; ask an admin for a new one".into()));
    }
    Ok(Caller { name: row.name, role: row.role })
}

async fn look_up(hall: &Hall, digest: &str, now: Timestamp) -> Result<Option<TokenRow>, StoreError> {
    let asked = timeout(hall.settings.request_timeout, hall.access.find_token(digest)).await;
    let found = asked.unwrap_or_else(|_| Err(too_slow()))?;
    let found = found.filter(|row| row.digest.as_bytes().ct_eq(digest.as_bytes()).into());
    if let Some(row) = &found {
        hall.tokens.keep(row.clone(), now);
    }
    Ok(found)
}

fn too_slow() -> StoreError {
    StoreError::Unavailable("it took too long".into())
}

fn presented<'a>(hall: &Hall, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        let detail = "send the header Authorization: Bearer <token>";
        return Err(Problem::unauthenticated(detail, false));
    };
    let token = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        let token = token.trim();
        let is_token = looks_like_a_token(token) || (hall.bearers.is_some() && !token.is_empty());
        (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
    });
    match (token, values.next()) {
        (Some(token), None) => Ok(token),
        _ => Err(Problem::unauthenticated("the Authorization header has no token in the form pe_…", true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> TokenRow {
        TokenRow {
            name: name.into(),
            role: Role::Reader,
            digest: digest(name),
            created_at: Timestamp(0),
            expires_at: None,
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_is_remembered_for_a_few_seconds_and_never_longer() {
        let cache = TokenCache::default();
        cache.keep(row("a"), at(10));
        assert!(cache.find(&digest("a"), at(14)).is_some());
        assert!(cache.find(&digest("a"), at(15)).is_none());
        assert!(cache.find(&digest("a"), at(9)).is_none(), "the clock was set back");
        cache.forget("a");
        assert!(cache.find(&digest("a"), at(10)).is_none());
    }

    #[test]
    fn the_cache_stays_small() {
        let cache = TokenCache::default();
        for number in 0..REMEMBERED_MAX * 3 {
            cache.keep(row(&number.to_string()), at(1));
        }
        assert!(cache.open().len() <= REMEMBERED_MAX);
    }
}
