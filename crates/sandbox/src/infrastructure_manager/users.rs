//! The users of the API server and their rights: those of a broker, of a controller and of an administrator, and one without any.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::failure::{ApiFailure, ForbiddenTarget};
use super::kinds::KubeKind;
use crate::hex::hex;

pub(super) const ADMIN: &str = "admin";
/// `keb` has the role that a broker usually gets, without `patch`; `kim` that of the controllers.
const USERS: [&str; 4] = [ADMIN, "keb", "kim", "outsider"];
const NAMESPACE: &str = "kcp-system";

/// Looks random, but is the same for the same user, also after a restart.
pub(super) fn token(user: &str) -> Option<String> {
    let mut hasher = Sha256::new();
    hasher.update(b"infrastructure manager ");
    hasher.update(user.as_bytes());
    USERS.contains(&user).then(|| hex(&hasher.finalize()))
}

/// Who calls, or that the token is wrong.
pub(super) fn authenticate(headers: &HeaderMap) -> Result<&'static str, ApiFailure> {
    let Some(given) = headers.get(header::AUTHORIZATION) else { return Ok("system:anonymous") };
    let given = given.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    let user = USERS.into_iter().find(|user| token(user).as_deref() == given);
    user.ok_or_else(ApiFailure::unauthorized)
}

/// Whether a role lets the user do this. That an API is not installed shows only after it.
pub(super) fn authorize(user: &str, verb: &str, target: &ForbiddenTarget<'_>) -> Result<(), ApiFailure> {
    let group = target.group;
    let is_ours = [KubeKind::Runtime.group(), KubeKind::Kyma.group()].contains(&group);
    let is_secret = group.is_empty() && target.plural == KubeKind::Secret.plural();
    let reads = ["get", "list", "watch"].contains(&verb);
    let is_allowed = match user {
        ADMIN => true,
        "kim" => is_ours || is_secret,
        "keb" => {
            let writes = ["create", "update", "delete"].contains(&verb);
            target.namespace == NAMESPACE
                && target.subresource.is_empty()
                && ((is_ours && (reads || writes)) || (is_secret && reads))
        }
        _ => false,
    };
    if is_allowed { Ok(()) } else { Err(ApiFailure::forbidden(user, verb, target)) }
}
