//! What somebody may do whose identity came in a header: somebody else knows, and is asked once in a while.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use tracing::warn;
use workflows::launch::rbac::{Permission, Rbac};

use super::error;
use super::{Counter, LaunchDoor};
use crate::http::Failure;

const REMEMBERED_MAX: usize = 4096;
/// There are not even fifty different ones.
const PERMISSIONS_MAX: usize = 500;

/// Knows what people may do.
#[async_trait]
pub trait Permissions: Send + Sync + 'static {
    /// The error is for the log; callers learn only that nobody knows now.
    async fn of(&self, identity_header: &str) -> Result<Vec<Permission>, String>;
}

#[async_trait]
impl Permissions for Rbac {
    async fn of(&self, identity_header: &str) -> Result<Vec<Permission>, String> {
        self.permissions(identity_header).await.map_err(|error| error.to_string())
    }
}

/// What was granted a moment ago. The key is the digest of the whole header: whoever differs in anything is
/// somebody else, so that nobody ever has the permissions of their neighbour.
#[derive(Default)]
pub(super) struct Granted(Mutex<HashMap<[u8; 32], Seen>>);

struct Seen {
    permissions: Arc<[Permission]>,
    at: Timestamp,
}

impl Seen {
    /// A clock that was set back makes an entry from the future, which counts for nothing.
    fn is_fresh(&self, now: Timestamp, lasts: Duration) -> bool {
        self.at <= now && now.since(self.at) < lasts
    }
}

impl Granted {
    fn open(&self) -> MutexGuard<'_, HashMap<[u8; 32], Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &[u8; 32], now: Timestamp, lasts: Duration) -> Option<Arc<[Permission]>> {
        self.open()
            .get(key)
            .filter(|seen| seen.is_fresh(now, lasts))
            .map(|seen| Arc::clone(&seen.permissions))
    }

    fn keep(&self, key: [u8; 32], permissions: Arc<[Permission]>, now: Timestamp, lasts: Duration) {
        let mut seen = self.open();
        if seen.len() >= REMEMBERED_MAX {
            seen.retain(|_, seen| seen.is_fresh(now, lasts));
        }
        if seen.len() >= REMEMBERED_MAX {
            seen.clear();
        }
        seen.insert(key, Seen { permissions, at: now });
    }
}

/// Asks, or remembers. Nobody to ask means what the settings say.
pub(super) async fn granted(desk: &Counter, identity_header: &str) -> Result<Arc<[Permission]>, Failure> {
    let LaunchDoor { rbac, header_permissions, permissions_last, .. } = &desk.door;
    let Some(rbac) = rbac else { return Ok(header_permissions.as_slice().into()) };
    let key: [u8; 32] = Sha256::digest(identity_header.trim()).into();
    let now = desk.hall.engine.now();
    if let Some(permissions) = desk.granted.find(&key, now, *permissions_last) {
        return Ok(permissions);
    }
    let asked = timeout(desk.hall.settings.request_timeout, rbac.of(identity_header)).await;
    let permissions = asked.unwrap_or_else(|_| Err("it took too long".into())).map_err(|error| {
        warn!(error, "nobody says what a caller may do");
        error::unavailable("it cannot be found out now what you may do").hint("try again in a moment")
    })?;
    let permissions = distinct(permissions);
    desk.granted.keep(key, Arc::clone(&permissions), now, *permissions_last);
    Ok(permissions)
}

/// Many roles grant the same; every one counts once.
fn distinct(permissions: Vec<Permission>) -> Arc<[Permission]> {
    let distinct: HashSet<Permission> = permissions.into_iter().collect();
    distinct.into_iter().take(PERMISSIONS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Timestamp {
        Timestamp(0).plus(Duration::from_secs(seconds))
    }

    fn some() -> Arc<[Permission]> {
        Permission::parse("provisioning:pubkey:read").into_iter().collect()
    }

    #[test]
    fn a_grant_is_remembered_as_long_as_it_is_set_and_for_nobody_else() {
        let granted = Granted::default();
        granted.keep([1; 32], some(), at(10), MINUTE);
        assert_eq!(granted.find(&[1; 32], at(69), MINUTE), Some(some()));
        assert_eq!(granted.find(&[1; 32], at(70), MINUTE), None);
        assert_eq!(granted.find(&[1; 32], at(10), Duration::ZERO), None, "it is not to be remembered");
        assert_eq!(granted.find(&[1; 32], at(9), MINUTE), None, "the clock was set back");
        assert_eq!(granted.find(&[2; 32], at(10), MINUTE), None);
    }

    #[test]
    fn a_permission_that_is_granted_twice_counts_once() {
        let both = [some().to_vec(), some().to_vec()].concat();
        assert_eq!(distinct(both), some());
    }

    #[test]
    fn the_memory_stays_small() {
        let granted = Granted::default();
        for number in 0..REMEMBERED_MAX * 3 {
            granted.keep(Sha256::digest(number.to_string()).into(), some(), at(1), MINUTE);
        }
        assert!(granted.open().len() <= REMEMBERED_MAX);
    }
}
