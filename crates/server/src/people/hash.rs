//! Argon2id with the parameters that OWASP recommends, which are the defaults of the crate: 19 MiB, two passes, one
//! lane. The hash is a PHC string, so other parameters can follow without losing any password.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use engine::secret::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tracing::error;

/// Each takes a core and its memory for a while; a request that comes when all are busy waits.
static DESKS: Semaphore = Semaphore::const_new(2);

/// What the password of an unknown user is compared with: it costs what a real one costs, and no password is known for it.
const UNKNOWN_USER: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub(super) async fn hash(password: &SecretString) -> String {
    let password = password.clone();
    apart(move || {
        let salt = rand::random::<[u8; 16]>();
        let hashed = Argon2::default().hash_password_with_salt(password.expose_secret().as_bytes(), &salt);
        hashed.expect("the parameters and the salt are always the same size, and good").to_string()
    })
    .await
}

/// Whether the password is the one of the hash. Without a hash it never is, after the same time.
pub(super) async fn is_good(password: &SecretString, hash: Option<&str>) -> bool {
    let password = password.clone();
    let is_somebody = hash.is_some();
    let hash = hash.unwrap_or(UNKNOWN_USER).to_owned();
    let compared = apart(move || match PasswordHash::new(&hash) {
        Ok(hash) => {
            let matches =
                Argon2::default().verify_password(password.expose_secret().as_bytes(), &hash).is_ok();
            (matches, work_of(&hash))
        }
        Err(error) => {
            error!(%error, "password hash unreadable; set a new password");
            (false, 0)
        }
    });
    let (matches, work) = compared.await;
    note(work);
    matches && is_somebody
}

/// How much a comparison costs: kibibytes times passes.
fn work_of(hash: &PasswordHash) -> u32 {
    argon2::Params::try_from(hash).map_or(0, |params| params.m_cost() * params.t_cost())
}

/// Off the threads that serve requests. The permit is free when the work is done, also when the request has ended.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let shared = DESKS.acquire().await.expect("it is never closed");
    let done = tokio::task::spawn_blocking(move || {
        let _shared = shared;
        work()
    });
    done.await.expect("it does not panic, and is cancelled only when no caller waits for it")
}

/// Only tests ask how much work was done.
#[cfg(not(test))]
fn note(_work: u32) {}

#[cfg(test)]
fn note(work: u32) {
    WORK.with(|done| done.set(done.get() + work));
}

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// The work of all comparisons that were carried out for this thread.
#[cfg(test)]
pub(super) fn work_done() -> u32 {
    WORK.with(std::cell::Cell::get)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    const FORM: &str = "$argon2id$v=19$m=19456,t=2,p=1$";

    #[tokio::test]
    async fn a_password_fits_its_hash_and_no_other_does() {
        let password = SecretString::from("correct horse battery");
        let (one, other) = (hash(&password).await, hash(&password).await);
        assert!(one.starts_with(FORM) && one.len() == UNKNOWN_USER.len(), "{one}");
        assert_ne!(one, other, "each has a salt of its own");
        assert!(is_good(&password, Some(&one)).await && is_good(&password, Some(&other)).await);
        assert!(!is_good(&SecretString::from("correct horse batterz"), Some(&one)).await);
    }

    #[tokio::test]
    async fn what_is_no_hash_fits_nothing() {
        let password = SecretString::from("correct horse battery");
        assert!(!is_good(&password, Some("plain")).await);
        assert!(!is_good(&password, None).await);
    }

    #[test]
    fn no_one_costs_what_someone_costs() {
        assert!(UNKNOWN_USER.starts_with(FORM));
        assert!(PasswordHash::new(UNKNOWN_USER).is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_two_work_at_a_time() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = |_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            apart(move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let hashed = Argon2::default().hash_password_with_salt(b"password", &[0; 16]);
                now.fetch_sub(1, Ordering::SeqCst);
                hashed.unwrap();
            })
        };
        join_all((0..8).map(work)).await;
        assert!(most.load(Ordering::SeqCst) <= 2);
    }
}
