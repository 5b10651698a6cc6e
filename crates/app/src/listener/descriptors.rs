//! File descriptors: the soft limit is raised, and a part is kept for the database and for outgoing clients.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// More than this is not asked for.
const SOFT_LIMIT: u64 = 65_536;
/// What the database, outgoing clients, logs and a sandbox in this process need at most.
const RESERVE_MAX: u64 = 1024;

/// Raises the soft limit of this process as far as the system allows without asking an administrator.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(SOFT_LIMIT).min(SOFT_LIMIT);
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        warn!(%error, limit = wanted, "raising the limit of open files failed");
    }
}

/// How many connections of clients the limit of open files leaves room for.
pub(super) fn for_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(SOFT_LIMIT).min(SOFT_LIMIT);
    usize::try_from(room(limit)).unwrap_or(usize::MAX)
}

/// A quarter is the reserve.
fn room(limit: u64) -> u64 {
    (limit - (limit / 4).min(RESERVE_MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_descriptors_is_kept_for_the_database_and_for_clients() {
        assert_eq!([1, 64, 1024, 4096, 65_536].map(room), [1, 48, 768, 3072, 64_512]);
    }
}
