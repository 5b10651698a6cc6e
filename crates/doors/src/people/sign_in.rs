//! Signing in with a name and a password.

use std::time::Duration;

use engine::secret::SecretString;
use engine::store::StoreError;
use engine::{PeopleStore, Timestamp, UserRow};

use super::{hash, password};
use crate::tokens::is_name;

/// How often somebody may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInLimits {
    /// This many wrong passwords in a row lock a user.
    pub attempts: u32,
    /// For this long.
    pub lock: Duration,
}

impl Default for SignInLimits {
    fn default() -> Self {
        SignInLimits { attempts: 10, lock: Duration::from_mins(15) }
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignInError {
    /// It does not say which of them: that would tell who is a user.
    #[error("the name or the password is wrong")]
    Wrong,
    #[error("there were too many wrong passwords; try again later, or ask an admin for a new one")]
    Locked { until: Timestamp },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whose name and password these are. A name that nobody has takes as long as one that somebody has.
pub async fn sign_in(
    people: &dyn PeopleStore,
    name: &str,
    password: &SecretString,
    limits: SignInLimits,
    now: Timestamp,
) -> Result<UserRow, SignInError> {
    if !is_name(name) || !password::is_possible(password) {
        hash::is_good(&SecretString::default(), None).await;
        return Err(SignInError::Wrong);
    }
    let user = people.begin_attempt(name, limits.attempts, now, now.plus(limits.lock)).await?;
    let locked_until = user.as_ref().and_then(|user| user.locked_until);
    if let Some(until) = locked_until.filter(|until| *until > now) {
        return Err(SignInError::Locked { until });
    }
    let is_good = hash::is_good(password, user.as_ref().map(|user| user.hash.as_str())).await;
    let user = user.filter(|_| is_good).ok_or(SignInError::Wrong)?;
    people.clear_attempts(name).await?;
    Ok(UserRow { failures: 0, locked_until: None, ..user })
}

#[cfg(test)]
mod tests {
    use engine::Role;
    use engine::store::MemoryStore;

    use super::*;
    use crate::people::new_user;

    const NOW: Timestamp = Timestamp(1_000_000);
    const LIMITS: SignInLimits = SignInLimits { attempts: 3, lock: Duration::from_secs(60) };
    const GOOD: &str = "correct horse battery";

    async fn store() -> MemoryStore {
        let store = MemoryStore::new();
        let hash = hash::hash(&SecretString::from(GOOD)).await;
        store.add_user(&new_user("ann", Role::Operator, hash, NOW)).await.unwrap();
        store
    }

    async fn attempt(
        store: &MemoryStore,
        name: &str,
        password: &str,
        second: u64,
    ) -> Result<Role, SignInError> {
        let now = NOW.plus(Duration::from_secs(second));
        sign_in(store, name, &SecretString::from(password), LIMITS, now).await.map(|user| user.role)
    }

    #[tokio::test]
    async fn the_right_password_gets_in_and_nothing_else() {
        let store = store().await;
        assert_eq!(attempt(&store, "ann", GOOD, 0).await, Ok(Role::Operator));
        let long = "x".repeat(5000);
        for (name, password) in [
            ("ann", "wrong"),
            ("ben", GOOD),
            ("Ann", GOOD),
            ("", GOOD),
            ("a\0b", GOOD),
            ("ann", &long),
            ("ann", ""),
        ] {
            assert_eq!(attempt(&store, name, password, 0).await, Err(SignInError::Wrong), "{name:?}");
        }
    }

    #[tokio::test]
    async fn too_many_wrong_passwords_lock_even_the_right_one_out_for_a_while() {
        let store = store().await;
        for _ in 0..3 {
            assert_eq!(attempt(&store, "ann", "wrong", 0).await, Err(SignInError::Wrong));
        }
        let until = NOW.plus(LIMITS.lock);
        assert_eq!(attempt(&store, "ann", GOOD, 59).await, Err(SignInError::Locked { until }));
        assert_eq!(attempt(&store, "ann", GOOD, 60).await, Ok(Role::Operator));
    }

    #[tokio::test]
    async fn the_right_password_at_the_last_moment_begins_the_count_anew() {
        let store = store().await;
        for _ in 0..3 {
            for _ in 0..2 {
                assert_eq!(attempt(&store, "ann", "wrong", 0).await, Err(SignInError::Wrong));
            }
            assert_eq!(attempt(&store, "ann", GOOD, 0).await, Ok(Role::Operator));
        }
        let user = store.find_user("ann").await.unwrap().unwrap();
        assert_eq!((user.failures, user.locked_until), (0, None));
    }

    #[tokio::test]
    async fn nobody_is_never_locked() {
        let store = store().await;
        for _ in 0..5 {
            assert_eq!(attempt(&store, "ben", "wrong", 0).await, Err(SignInError::Wrong));
        }
        assert_eq!(store.users().await.unwrap().len(), 1);
    }
}
