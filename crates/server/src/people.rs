//! People with passwords of ours: 1 to 64 characters of name, a role, and a hash. Their sessions are the console's;
//! here they are listed and ended.

pub(crate) mod change;
pub(crate) mod create;
pub(crate) mod delete;
mod gate;
mod hash;
mod link;
pub(crate) mod list;
pub(crate) mod my_password;
mod password;
pub(crate) mod sessions;
mod sign_in;
pub(crate) mod sign_out;

use api::Code;
use engine::secret::SecretString;
use engine::store::StoreError;
use engine::{AdminChange, Capability, PeopleStore, Role, Timestamp, UserRow};

pub(crate) use gate::SignInGate;
pub use link::{LINK_LIFETIME, issue_link};
pub(crate) use link::{is_link, redeem};
pub(crate) use sign_in::{Attempt, sign_in};
pub use sign_in::{SignInError, SignInLimits};

use crate::http::Failure;

const FIRST_USER: &str = "admin";

/// Makes an admin where there is no user at all, and answers its name and its password. `None` when there is a user
/// already, also when another node was faster.
pub async fn ensure_first_user(
    people: &dyn PeopleStore,
    now: Timestamp,
) -> Result<Option<(String, SecretString)>, StoreError> {
    if !people.users().await?.is_empty() {
        return Ok(None);
    }
    let password = password::made();
    let user = new_user(FIRST_USER, Role::Admin, hash::hash(&password).await, now);
    let is_made = people.add_user(&user).await?;
    Ok(is_made.then_some((user.name, password)))
}

fn new_user(name: &str, role: Role, hash: String, now: Timestamp) -> UserRow {
    UserRow {
        grants: Vec::new(),
        name: name.to_owned(),
        role,
        hash,
        created_at: now,
        failures: 0,
        locked_until: None,
    }
}

async fn find(people: &dyn PeopleStore, name: &str) -> Result<UserRow, Failure> {
    people.find_user(name).await?.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Failure {
    Failure::new(Code::UserNotFound, format!("there is no user {name:?}"))
}

/// A platform is no person.
fn check_role(role: Role) -> Result<(), Failure> {
    if !role.can(Capability::SignIn) {
        let detail = "role: a broker is a platform and no person; give the platform a token with this role";
        return Err(Failure::new(Code::InvalidBody, detail).with("field", "role"));
    }
    Ok(())
}

/// The answer to a change of a user that was not made.
fn done(change: AdminChange, name: &str) -> Result<(), Failure> {
    match change {
        AdminChange::Done => Ok(()),
        AdminChange::Missing => Err(missing(name)),
        AdminChange::LastAdmin => {
            let detail = format!("{name:?} is the last user who is an admin; make another one first");
            Err(Failure::new(Code::LastAdminUser, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::secret::ExposeSecret;
    use engine::store::MemoryStore;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[tokio::test]
    async fn the_first_user_is_made_once_and_gets_in() {
        let store = MemoryStore::new();
        let (name, password) = ensure_first_user(&store, NOW).await.unwrap().unwrap();
        assert!(ensure_first_user(&store, NOW).await.unwrap().is_none());
        let attempt = Attempt { name: &name, password: &password, from: None };
        let gate = SignInGate::default();
        let user = sign_in(&store, &gate, attempt, SignInLimits::default(), NOW).await.unwrap();
        assert_eq!((user.name.as_str(), user.role), ("admin", Role::Admin));
        assert!(!user.hash.contains(password.expose_secret()));
        let again = ensure_first_user(&MemoryStore::new(), NOW).await.unwrap().unwrap().1;
        assert_ne!(again.expose_secret(), password.expose_secret());
    }

    #[tokio::test]
    async fn where_there_is_anyone_no_one_is_made() {
        let store = MemoryStore::new();
        store.add_user(&new_user("rita", Role::Reader, "hash".into(), NOW)).await.unwrap();
        assert!(ensure_first_user(&store, NOW).await.unwrap().is_none());
    }
}
