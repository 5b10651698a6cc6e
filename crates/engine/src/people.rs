//! People who sign in: their passwords as they are kept, and the sessions that they have.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;

use crate::access::Role;
use crate::clock::Timestamp;
use crate::store::StoreError;

/// Somebody with a password of ours.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    pub name: String,
    pub role: Role,
    /// What a password is compared with; it says itself how it was made.
    pub hash: String,
    pub created_at: Timestamp,
    /// Attempts to sign in since the last one that was good.
    pub failures: u32,
    /// No password is good before then.
    pub locked_until: Option<Timestamp>,
}

impl fmt::Debug for UserRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UserRow { name, role, created_at, failures, locked_until, hash: _ } = self;
        f.debug_struct("UserRow")
            .field("name", name)
            .field("role", role)
            .field("created_at", created_at)
            .field("failures", failures)
            .field("locked_until", locked_until)
            .finish_non_exhaustive()
    }
}

/// How somebody proved who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    Password,
    /// An API token, typed in by a person.
    Token,
    /// An identity provider says so.
    Oidc,
}

impl Proof {
    pub const ALL: [Proof; 3] = [Proof::Password, Proof::Token, Proof::Oidc];

    pub fn as_str(self) -> &'static str {
        match self {
            Proof::Password => "password",
            Proof::Token => "token",
            Proof::Oidc => "oidc",
        }
    }
}

impl FromStr for Proof {
    type Err = String;

    fn from_str(text: &str) -> Result<Proof, String> {
        let found = Proof::ALL.into_iter().find(|proof| proof.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no way to sign in"))
    }
}

/// A browser that somebody has signed in with. What the browser holds is kept as its SHA-256 alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub digest: String,
    pub user: String,
    /// What they could do when they signed in. A change of it ends the session.
    pub role: Role,
    /// The organisation that an identity provider named.
    pub org: Option<String>,
    pub proof: Proof,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
}

/// The part of a store that knows people.
#[async_trait]
pub trait PeopleStore: Send + Sync + 'static {
    /// Adds a user; `false` when the name is taken.
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError>;
    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError>;
    /// By name.
    async fn users(&self) -> Result<Vec<UserRow>, StoreError>;
    /// Sets the role and the hash of the user of this name, unlocks it, and ends its sessions by password, in one
    /// commit; `false` when there is none.
    async fn change_user(&self, user: &UserRow) -> Result<bool, StoreError>;
    /// Removes a user with its sessions by password; `false` when there is none.
    async fn remove_user(&self, name: &str) -> Result<bool, StoreError>;
    /// Counts an attempt before its password is looked at, so that a thousand at once are a thousand. Answers the
    /// user as it was before. Attempts while it is locked do not count. The one that makes `limit` locks it until
    /// `until`, and the count begins anew.
    async fn begin_attempt(
        &self,
        name: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<UserRow>, StoreError>;
    /// The password was good: nothing is counted any more and nothing is locked.
    async fn clear_attempts(&self, name: &str) -> Result<(), StoreError>;

    async fn add_session(&self, session: &SessionRow) -> Result<(), StoreError>;
    async fn find_session(&self, digest: &str) -> Result<Option<SessionRow>, StoreError>;
    /// Those of one user, or all; newest first, `limit` at most.
    async fn sessions(&self, user: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError>;
    /// Somebody uses it: it is good for longer.
    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError>;
    /// `false` when there was none.
    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError>;
    /// Signs somebody out everywhere; answers of how many sessions. A user and a token may have the same name: the
    /// proof tells them apart.
    async fn remove_sessions(&self, user: &str, proof: Proof) -> Result<u64, StoreError>;
    /// Removes what has expired.
    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;
}
