//! People who sign in: their passwords as they are kept, and the sessions that they have.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;

use crate::access::{AdminChange, Grant, Role};
use crate::clock::Timestamp;
use crate::store::StoreError;

/// A user with a password of ours.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    pub name: String,
    pub role: Role,
    /// What it may do beyond its role, for some workflows.
    pub grants: Vec<Grant>,
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
        let UserRow { name, role, grants, created_at, failures, locked_until, hash: _ } = self;
        f.debug_struct("UserRow")
            .field("name", name)
            .field("role", role)
            .field("grants", grants)
            .field("created_at", created_at)
            .field("failures", failures)
            .field("locked_until", locked_until)
            .finish_non_exhaustive()
    }
}

/// What is to become of a user; what is left out stays.
#[derive(Clone, Default)]
pub struct UserChange {
    pub role: Option<Role>,
    /// All of them, in place of those before.
    pub grants: Option<Vec<Grant>>,
    pub hash: Option<String>,
}

/// Which credentials opened a session. A user and a token may have the same name: this tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProofKind {
    Password,
    /// An API token of this server.
    Token,
    /// Another system vouches: an `OpenID` Connect issuer, or a trusted proxy.
    Oidc,
}

impl ProofKind {
    pub const ALL: [ProofKind; 3] = [ProofKind::Password, ProofKind::Token, ProofKind::Oidc];

    pub fn as_str(self) -> &'static str {
        match self {
            ProofKind::Password => "password",
            ProofKind::Token => "token",
            ProofKind::Oidc => "oidc",
        }
    }
}

impl FromStr for ProofKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ProofKind, String> {
        let found = ProofKind::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no way to sign in"))
    }
}

/// How a principal proved its identity, with what is needed to see that the proof still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A password of this server. The digest is that of the stored hash, so a new password is another proof.
    Password { digest: String },
    /// An API token of this server, by its digest.
    Token { digest: String },
    /// A bearer token of an `OpenID` Connect issuer. It is refused from this moment on.
    Bearer { expires_at: Timestamp },
    /// A sign-in at an `OpenID` Connect issuer with the authorization code flow.
    CodeFlow,
    /// The identity header of a trusted proxy.
    Header,
}

impl Proof {
    pub fn kind(&self) -> ProofKind {
        match self {
            Proof::Password { .. } => ProofKind::Password,
            Proof::Token { .. } => ProofKind::Token,
            Proof::Bearer { .. } | Proof::CodeFlow | Proof::Header => ProofKind::Oidc,
        }
    }

    /// The moment from which it proves nothing, as far as the proof itself says so.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Proof::Bearer { expires_at } => Some(*expires_at),
            Proof::Password { .. } | Proof::Token { .. } | Proof::CodeFlow | Proof::Header => None,
        }
    }

    /// Whether this server itself issued what was shown.
    pub fn is_of_this_server(&self) -> bool {
        matches!(self.kind(), ProofKind::Password | ProofKind::Token)
    }
}

/// The organisation that a principal belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Organisation {
    /// A user or a token of this server acts for the organisation that the settings name.
    Server,
    /// The issuer or the proxy names it.
    Named(String),
    /// The issuer names none: the principal has no access to the data of any organisation.
    Missing,
}

/// A browser that a principal has signed in with, and what makes the same principal again. What the browser holds is
/// kept as its SHA-256 alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub digest: String,
    pub user: String,
    pub roles: Vec<Role>,
    pub organisation: Organisation,
    /// Each as `application:resource:verb`.
    pub permissions: Vec<String>,
    /// What it may do beyond its roles, for some workflows.
    pub grants: Vec<Grant>,
    pub proof: Proof,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    pub expires_at: Timestamp,
    /// The browser and the address that it was begun from; empty in rows of earlier releases.
    pub device: String,
    pub address: String,
}

/// A form that is filled in over several pages. It belongs to a session and ends with it at the latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftRow {
    /// The digest of the session.
    pub session: String,
    pub id: String,
    /// Sealed.
    pub value: String,
    pub saved_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A session keeps its newest drafts, and no more than this.
pub const DRAFTS_MAX: usize = 10;

/// The part of a store that knows people.
#[async_trait]
pub trait PeopleStore: Send + Sync + 'static {
    /// Adds a user; `false` when the name is taken.
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError>;
    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError>;
    /// By name.
    async fn users(&self) -> Result<Vec<UserRow>, StoreError>;
    /// Changes the user of this name, unlocks it, and ends its sessions by password, in one commit. The last admin
    /// keeps its role.
    async fn change_user(&self, name: &str, change: &UserChange) -> Result<AdminChange, StoreError>;
    /// Removes a user with its sessions by password, unless it is the last admin.
    async fn remove_user(&self, name: &str) -> Result<AdminChange, StoreError>;
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
    /// A caller uses it: it is good for longer.
    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError>;
    /// `false` when there was none.
    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError>;
    /// Signs a user out everywhere; answers how many sessions ended. A user and a token may have the same name: the
    /// proof tells them apart.
    async fn remove_sessions(&self, user: &str, proof: ProofKind) -> Result<u64, StoreError>;
    /// Removes sessions and drafts that have expired; answers how many sessions.
    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;

    /// Adds a draft or changes it. Where the session has more than [`DRAFTS_MAX`], those go that were saved first.
    async fn save_draft(&self, draft: &DraftRow) -> Result<(), StoreError>;
    async fn find_draft(&self, session: &str, id: &str) -> Result<Option<DraftRow>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_proof_is_of_a_kind_and_says_when_it_ends() {
        let (digest, end) = (String::new(), Timestamp(7));
        let table = [
            (Proof::Password { digest: digest.clone() }, "password", None, true),
            (Proof::Token { digest }, "token", None, true),
            (Proof::Bearer { expires_at: end }, "oidc", Some(end), false),
            (Proof::CodeFlow, "oidc", None, false),
            (Proof::Header, "oidc", None, false),
        ];
        for (proof, kind, ends, is_ours) in table {
            assert_eq!(proof.kind().as_str(), kind, "{proof:?}");
            assert_eq!(kind.parse(), Ok(proof.kind()));
            assert_eq!((proof.expires_at(), proof.is_of_this_server()), (ends, is_ours), "{proof:?}");
        }
        assert!("wink".parse::<ProofKind>().unwrap_err().contains("wink"));
    }

    #[test]
    fn a_user_is_shown_without_the_hash_of_its_password() {
        let (name, hash) = ("ann".to_owned(), "$argon2id$hash".to_owned());
        let created_at = Timestamp(0);
        let (grants, locked_until) = (Vec::new(), None);
        let user = UserRow { name, role: Role::Reader, grants, hash, created_at, failures: 3, locked_until };
        let shown = format!("{user:?}");
        assert!(
            shown.contains("ann") && shown.contains("failures: 3") && !shown.contains("argon2"),
            "{shown}"
        );
    }
}
