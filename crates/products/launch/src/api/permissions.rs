//! Permissions of users whose identity came in a header: RBAC is asked, and the answer is cached.

use std::collections::HashSet;
use std::sync::Arc;

use api::Permission;
use async_trait::async_trait;
use rbac::Rbac;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use tracing::warn;

use super::error;
use super::{LaunchApiParts, LaunchShared};
use server::http::{Failure, TtlCache};

/// There are not even fifty different ones.
const PERMISSIONS_MAX: usize = 500;

/// Knows what people may do.
#[async_trait]
pub trait Permissions: Send + Sync + 'static {
    /// The error is for the log; callers learn only that it is unknown now.
    async fn of(&self, identity_header: &str) -> Result<Vec<Permission>, String>;
}

#[async_trait]
impl Permissions for Rbac {
    async fn of(&self, identity_header: &str) -> Result<Vec<Permission>, String> {
        self.permissions(identity_header).await.map_err(|error| error.to_string())
    }
}

/// What was granted a moment ago. The key is the digest of the whole header: a header that differs in anything is
/// another user, so that no user gets the permissions of another.
pub(crate) type PermissionCache = TtlCache<[u8; 32], Arc<[Permission]>>;

/// Asks, or remembers. Without an RBAC service the settings decide.
pub(crate) async fn granted(
    shared: &LaunchShared,
    identity_header: &str,
) -> Result<Arc<[Permission]>, Failure> {
    let LaunchApiParts { rbac, header_permissions, permissions_last, .. } = &shared.api_parts;
    let Some(rbac) = rbac else { return Ok(header_permissions.as_slice().into()) };
    let key: [u8; 32] = Sha256::digest(identity_header.trim()).into();
    let now = shared.app.engine.now();
    if let Some(permissions) = shared.granted.find(&key, now, *permissions_last) {
        return Ok(permissions);
    }
    let asked = timeout(shared.app.settings.request_timeout, rbac.of(identity_header)).await;
    let permissions = asked.unwrap_or_else(|_| Err("it took too long".into())).map_err(|error| {
        warn!(error, "RBAC lookup failed");
        error::unavailable("your permissions cannot be looked up now").hint("try again in a moment")
    })?;
    let permissions = distinct(permissions);
    shared.granted.keep(key, Arc::clone(&permissions), now, *permissions_last);
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

    fn some() -> Arc<[Permission]> {
        Permission::parse("provisioning:pubkey:read").into_iter().collect()
    }

    #[test]
    fn a_permission_that_is_granted_twice_counts_once() {
        let both = [some().to_vec(), some().to_vec()].concat();
        assert_eq!(distinct(both), some());
    }
}
