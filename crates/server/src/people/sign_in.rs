//! Signing in with a name and a password.

use std::net::IpAddr;
use std::time::Duration;

use engine::secret::SecretString;
use engine::store::StoreError;
use engine::{PeopleStore, Timestamp, UserRow};

use super::gate::SignInGate;
use super::{hash, password};
use crate::tokens::is_name;

/// How often a password may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInLimits {
    /// This many wrong passwords in a row lock a user.
    pub attempts: u32,
    /// For this long.
    pub lock: Duration,
}

impl Default for SignInLimits {
    fn default() -> Self {
        SignInLimits { attempts: 10, lock: Duration::from_mins(5) }
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignInError {
    /// It does not say which of them: that would tell who is a user.
    #[error("the name or the password is wrong")]
    Wrong,
    #[error("there were too many wrong passwords; try again later, or ask an admin for a new one")]
    Locked { until: Timestamp },
    /// From this address, or at all at this moment.
    #[error("there are too many attempts to sign in; try again in a few minutes")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One attempt to sign in.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) name: &'a str,
    pub(crate) password: &'a SecretString,
    /// Where it comes from. A principal that proves itself once more comes from nowhere.
    pub(crate) from: Option<IpAddr>,
}

/// Whose name and password these are. Every answer but `TooMany` costs the same work: a name that no user has, a locked
/// user and a wrong password look alike.
pub(crate) async fn sign_in(
    people: &dyn PeopleStore,
    gate: &SignInGate,
    attempt: Attempt<'_>,
    limits: SignInLimits,
    now: Timestamp,
) -> Result<UserRow, SignInError> {
    let Attempt { name, password, from } = attempt;
    if from.is_some_and(|from| gate.is_closed(from, limits, now)) {
        return Err(SignInError::TooMany);
    }
    let _place = gate.queue().ok_or(SignInError::TooMany)?;
    let is_possible = is_name(name) && password::is_possible(password);
    let user = if is_possible {
        people.begin_attempt(name, limits.attempts, now, now.plus(limits.lock)).await?
    } else {
        None
    };
    let password = if is_possible { password.clone() } else { SecretString::default() };
    let is_good = hash::is_good(&password, user.as_ref().map(|user| user.hash.as_str())).await;
    let locked_until = user.as_ref().and_then(|user| user.locked_until).filter(|until| *until > now);
    let is_at_home = from.is_some_and(|from| gate.has_signed_in(from, name));
    let found = match (user.filter(|_| is_good), locked_until) {
        (_, Some(until)) if !is_at_home => Err(SignInError::Locked { until }),
        (Some(user), _) => Ok(UserRow { failures: 0, locked_until: None, ..user }),
        (None, _) => Err(SignInError::Wrong),
    };
    match (&found, from) {
        (Ok(_), Some(from)) => gate.signed_in(from, name),
        (Err(_), Some(from)) => gate.failed(from, limits, now),
        (_, None) => {}
    }
    if found.is_ok() {
        people.clear_attempts(name).await?;
    }
    found
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
        attempt_from(store, &SignInGate::default(), None, (name, password), second).await
    }

    async fn attempt_from(
        store: &MemoryStore,
        gate: &SignInGate,
        from: Option<IpAddr>,
        (name, password): (&str, &str),
        second: u64,
    ) -> Result<Role, SignInError> {
        let now = NOW.plus(Duration::from_secs(second));
        let attempt = Attempt { name, password: &SecretString::from(password), from };
        sign_in(store, gate, attempt, LIMITS, now).await.map(|user| user.role)
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
    async fn no_one_is_never_locked() {
        let store = store().await;
        for _ in 0..5 {
            assert_eq!(attempt(&store, "ben", "wrong", 0).await, Err(SignInError::Wrong));
        }
        assert_eq!(store.users().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn every_answer_costs_one_comparison() {
        // What a comparison with the hash of a user costs: kibibytes times passes.
        const ONE: u32 = 19_456 * 2;
        let store = store().await;
        let long = "x".repeat(5000);
        let cost = async |name: &str, password: &str, second: u64| {
            let before = hash::work_done();
            let answer = attempt(&store, name, password, second).await;
            (answer, hash::work_done() - before)
        };
        for (name, password) in
            [("ann", "wrong"), ("ben", GOOD), ("a b", GOOD), ("ann", &long), ("ann", "wrong")]
        {
            assert_eq!(cost(name, password, 0).await, (Err(SignInError::Wrong), ONE), "{name}");
        }
        assert_eq!(cost("ann", "wrong", 0).await, (Err(SignInError::Wrong), ONE), "the third locks");
        let until = NOW.plus(LIMITS.lock);
        for password in ["wrong", GOOD] {
            assert_eq!(cost("ann", password, 1).await, (Err(SignInError::Locked { until }), ONE));
        }
        assert_eq!(cost("ann", GOOD, 60).await, (Ok(Role::Operator), ONE));
    }

    #[tokio::test]
    async fn wrong_passwords_from_elsewhere_do_not_lock_a_user_out_of_its_own_address() {
        let (store, gate) = (store().await, SignInGate::default());
        let (home, elsewhere): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let attempt =
            async |from, password: &str| attempt_from(&store, &gate, Some(from), ("ann", password), 0).await;
        assert_eq!(attempt(home, GOOD).await, Ok(Role::Operator));
        for _ in 0..3 {
            assert_eq!(attempt(elsewhere, "wrong").await, Err(SignInError::Wrong));
        }
        let until = NOW.plus(LIMITS.lock);
        assert_eq!(attempt(elsewhere, GOOD).await, Err(SignInError::Locked { until }));
        assert_eq!(attempt(home, "wrong").await, Err(SignInError::Wrong));
        assert_eq!(attempt(home, GOOD).await, Ok(Role::Operator));
    }

    #[tokio::test]
    async fn an_address_with_too_many_wrong_passwords_is_turned_away_without_work() {
        let (store, gate) = (store().await, SignInGate::default());
        let from = Some(IpAddr::from([192, 0, 2, 1]));
        for number in 0..LIMITS.attempts * 5 {
            let name = format!("user-{number}");
            let answer = attempt_from(&store, &gate, from, (&name, GOOD), 0).await;
            assert_eq!(answer, Err(SignInError::Wrong));
        }
        let before = hash::work_done();
        assert_eq!(attempt_from(&store, &gate, from, ("ann", GOOD), 0).await, Err(SignInError::TooMany));
        assert_eq!(hash::work_done(), before);
        assert_eq!(attempt_from(&store, &gate, from, ("ann", GOOD), 60).await, Ok(Role::Operator));
    }
}
