//! API tokens: 256 random bits, shown once, kept only as a digest.

pub mod create;
pub mod delete;
pub mod list;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::secret::{ExposeSecret, SecretString};
use engine::store::StoreError;
use engine::{AccessStore, Grant, Role, Timestamp, TokenRow};
use sha2::{Digest, Sha256};

/// So that a token is recognised where it should not be, such as in a repository.
const PREFIX: &str = "pe_";
/// 32 bytes in base64 without padding.
const ENCODED_CHARS: usize = 43;
const NAME_CHARS_MAX: usize = 64;
pub const NAME_RULE: &str = "1 to 64 letters, digits, dots, dashes and underscores";
/// More names than this are not tried for the first admin.
const ADMIN_NAMES_MAX: u32 = 100;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IssueError {
    #[error("there is a token {0:?} already")]
    NameTaken(String),
    #[error("the name of a token has {NAME_RULE}")]
    InvalidName,
    #[error("the name of a platform has {NAME_RULE}")]
    InvalidPlatform,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a token and keeps its digest. The token is in the answer and nowhere else.
pub async fn issue(
    access: &dyn AccessStore,
    name: &str,
    role: Role,
    now: Timestamp,
    expires_at: Option<Timestamp>,
) -> Result<SecretString, IssueError> {
    issue_for(access, name, role, None, now, expires_at).await
}

/// The same for one of several credentials of a platform.
pub async fn issue_for(
    access: &dyn AccessStore,
    name: &str,
    role: Role,
    platform: Option<&str>,
    now: Timestamp,
    expires_at: Option<Timestamp>,
) -> Result<SecretString, IssueError> {
    if !is_name(name) {
        return Err(IssueError::InvalidName);
    }
    issue_as(access, name, (role, Vec::new()), platform, now, expires_at).await
}

/// The same with a name and grants that were checked before.
pub(crate) async fn issue_as(
    access: &dyn AccessStore,
    name: &str,
    (role, grants): (Role, Vec<Grant>),
    platform: Option<&str>,
    now: Timestamp,
    expires_at: Option<Timestamp>,
) -> Result<SecretString, IssueError> {
    if platform.is_some_and(|platform| !is_name(platform)) {
        return Err(IssueError::InvalidPlatform);
    }
    let token = SecretString::from(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())));
    let digest = digest(token.expose_secret());
    let platform = platform.map(str::to_owned);
    let row = TokenRow { grants, name: name.to_owned(), role, digest, platform, created_at: now, expires_at };
    if access.add_token(&row).await? { Ok(token) } else { Err(IssueError::NameTaken(name.to_owned())) }
}

/// What is kept of a token: its SHA-256 in hexadecimal digits.
pub fn digest(token: &str) -> String {
    http_client::hex(&Sha256::digest(token.as_bytes()))
}

/// Makes an admin token where no admin could get in otherwise. `None` when there is one already, also when
/// another node was faster.
pub async fn ensure_admin(
    access: &dyn AccessStore,
    now: Timestamp,
) -> Result<Option<SecretString>, IssueError> {
    for number in 1..=ADMIN_NAMES_MAX {
        if access.tokens().await?.iter().any(|token| is_good_admin(token, now)) {
            return Ok(None);
        }
        // The plain name may belong to a token that has expired.
        let name = if number == 1 { "admin".to_owned() } else { format!("admin-{number}") };
        match issue(access, &name, Role::Admin, now, None).await {
            Err(IssueError::NameTaken(_)) => {}
            other => return other.map(Some),
        }
    }
    Err(IssueError::NameTaken("admin".into()))
}

fn is_good_admin(token: &TokenRow, now: Timestamp) -> bool {
    token.role == Role::Admin && token.expires_at.is_none_or(|expires_at| expires_at > now)
}

/// Spares the database everything that cannot be a token.
pub fn looks_like_a_token(text: &str) -> bool {
    let encoded = text.strip_prefix(PREFIX).unwrap_or_default();
    let is_base64 = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    encoded.len() == ENCODED_CHARS && encoded.bytes().all(is_base64)
}

/// Also of a user.
pub fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use engine::store::MemoryStore;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[tokio::test]
    async fn a_token_is_found_by_its_digest_and_is_nowhere_in_the_store() {
        let store = MemoryStore::new();
        let token = issue(&store, "ci", Role::Operator, NOW, None).await.unwrap();
        let text = token.expose_secret();
        assert!(looks_like_a_token(text), "{text}");
        let row = store.find_token(&digest(text)).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.role), ("ci", Role::Operator));
        assert!(!format!("{row:?}").contains(text));
        let again = issue(&store, "ci", Role::Reader, NOW, None).await.unwrap_err();
        assert_eq!(again, IssueError::NameTaken("ci".into()));
        let other = issue(&store, "cd", Role::Operator, NOW, None).await.unwrap();
        assert_ne!(other.expose_secret(), text);
    }

    #[tokio::test]
    async fn names_are_safe_in_logs_and_paths() {
        let store = MemoryStore::new();
        for name in ["", "a b", "a/b", "ä", "a\0", &"a".repeat(65)] {
            let refused = issue(&store, name, Role::Reader, NOW, None).await.unwrap_err();
            assert_eq!(refused, IssueError::InvalidName, "{name:?}");
        }
    }

    #[tokio::test]
    async fn the_first_admin_is_made_once_and_again_when_the_last_has_expired() {
        let store = MemoryStore::new();
        let soon = NOW.plus(std::time::Duration::from_secs(1));
        assert!(ensure_admin(&store, NOW).await.unwrap().is_some());
        assert!(ensure_admin(&store, NOW).await.unwrap().is_none());
        let store = MemoryStore::new();
        issue(&store, "admin", Role::Admin, NOW, Some(soon)).await.unwrap();
        assert!(ensure_admin(&store, NOW).await.unwrap().is_none());
        assert!(ensure_admin(&store, soon).await.unwrap().is_some());
        assert!(store.tokens().await.unwrap().iter().any(|token| token.name == "admin-2"));
    }

    #[test]
    fn a_digest_is_plain_sha_256() {
        let expect = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest("abc"), expect);
    }
}
