//! Sign-in links: a code that signs a user in once, within minutes. The database has its SHA-256 alone.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::secret::{ExposeSecret, SecretString};
use engine::store::StoreError;
use engine::{PeopleStore, Role, SessionRow, Timestamp, UserRow};

use super::FIRST_USER;
use crate::principal::Principal;
use crate::tokens::digest;

/// How long a link is good.
pub const LINK_LIFETIME: Duration = Duration::from_mins(10);
const CODE_BYTES: usize = 32;
/// Before the digest of a code. A session has none, so that no cookie opens a link and no link is a session.
const PREFIX: &str = "link-";

/// A code for an admin with a password, and the name of the admin: `admin`, or else the first by name. `None` where
/// there is none.
pub async fn issue_link(
    people: &dyn PeopleStore,
    now: Timestamp,
) -> Result<Option<(String, SecretString)>, StoreError> {
    let mut admins = people.users().await?;
    admins.retain(|user| user.role == Role::Admin);
    admins.sort_by_key(|user| (user.name != FIRST_USER, user.name.clone()));
    let Some(user) = admins.first() else { return Ok(None) };
    let code = SecretString::from(URL_SAFE_NO_PAD.encode(rand::random::<[u8; CODE_BYTES]>()));
    people.prune_sessions(now).await?;
    people.add_session(&Principal::of_user(user).session(kept(&code), now, now.plus(LINK_LIFETIME))).await?;
    Ok(Some((user.name.clone(), code)))
}

/// The user whom this code signs in. It is gone with the first call, whatever becomes of that.
pub(crate) async fn redeem(
    people: &dyn PeopleStore,
    code: &SecretString,
    now: Timestamp,
) -> Result<Option<UserRow>, StoreError> {
    let digest = kept(code);
    let Some(row) = people.find_session(&digest).await? else { return Ok(None) };
    // Of many who come at once, the database gives it to one.
    if !people.remove_session(&digest).await? || row.expires_at <= now {
        return Ok(None);
    }
    let user = people.find_user(&row.user).await?;
    // A new password or another role ends what was made before.
    Ok(user.filter(|user| user.role == Role::Admin && Principal::of_user(user).proof == row.proof))
}

/// Whether a row is a link that was not used yet, and no session.
pub(crate) fn is_link(row: &SessionRow) -> bool {
    row.digest.starts_with(PREFIX)
}

fn kept(code: &SecretString) -> String {
    format!("{PREFIX}{}", digest(code.expose_secret()))
}

#[cfg(test)]
mod tests {
    use engine::UserChange;
    use engine::store::MemoryStore;

    use super::*;
    use crate::people::new_user;

    const NOW: Timestamp = Timestamp(1_000_000);

    async fn store() -> MemoryStore {
        let store = MemoryStore::new();
        for (name, role) in [("ann", Role::Reader), ("zoe", Role::Admin)] {
            store.add_user(&new_user(name, role, "hash".into(), NOW)).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_link_signs_an_admin_in_once_and_within_its_time() {
        let store = store().await;
        let (name, code) = issue_link(&store, NOW).await.unwrap().unwrap();
        assert_eq!(name, "zoe");
        let wrong = SecretString::from("wrong");
        assert_eq!(redeem(&store, &wrong, NOW).await.unwrap(), None);
        assert_eq!(redeem(&store, &code, NOW).await.unwrap().map(|user| user.name), Some(name));
        assert_eq!(redeem(&store, &code, NOW).await.unwrap(), None, "once");
        let (_, late) = issue_link(&store, NOW).await.unwrap().unwrap();
        assert_eq!(redeem(&store, &late, NOW.plus(LINK_LIFETIME)).await.unwrap(), None, "too late");
        assert_eq!(redeem(&store, &late, NOW).await.unwrap(), None, "and it is gone");
    }

    #[tokio::test]
    async fn what_is_stored_is_no_session_and_does_not_outlive_the_password() {
        let store = store().await;
        let (_, code) = issue_link(&store, NOW).await.unwrap().unwrap();
        let rows = store.sessions(None, 10).await.unwrap();
        assert!(rows.len() == 1 && is_link(&rows[0]), "{rows:?}");
        assert!(!format!("{rows:?}").contains(code.expose_secret()));
        assert!(store.find_session(&digest(code.expose_secret())).await.unwrap().is_none(), "not a cookie");
        let change = UserChange { grants: None, role: None, hash: Some("other".into()) };
        store.change_user("zoe", &change).await.unwrap();
        assert_eq!(redeem(&store, &code, NOW).await.unwrap(), None);
        assert_eq!(issue_link(&MemoryStore::new(), NOW).await.unwrap().map(|(name, _)| name), None);
    }
}
