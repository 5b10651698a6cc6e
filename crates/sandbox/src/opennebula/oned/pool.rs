//! Lists of documents and machines: whose, and which part of them.

use super::command::Range;
use crate::opennebula::call_error::{NebulaError, XML_RPC_API};
use crate::opennebula::users::{AuthenticatedUser, NebulaRight, Owned};

/// The own group.
const WHOSE_MIN: i32 = -4;

impl Range {
    /// What the caller sees of a list that has its newest first.
    pub(super) fn of<'a, T: Owned>(
        self,
        caller: &AuthenticatedUser,
        newest_first: impl Iterator<Item = &'a T>,
    ) -> Vec<&'a T> {
        let seen = newest_first
            .filter(|one| self.is_meant(caller, *one) && one.is_open_to(caller, NebulaRight::Use));
        match (usize::try_from(self.start), self.end) {
            // A page: so many after so many.
            (Ok(offset), end) if end < -1 => {
                let size = usize::try_from(end.unsigned_abs()).unwrap_or(usize::MAX);
                seen.skip(offset).take(size).collect()
            }
            (Err(_), _) => seen.collect(),
            (Ok(_), end) => {
                let is_inside = |id: i32| id >= self.start && (end < 0 || id <= end);
                seen.filter(|one| is_inside(one.id())).collect()
            }
        }
    }

    pub(super) fn check(self, why: &str) -> Result<(), NebulaError> {
        if self.whose < WHOSE_MIN { Err(NebulaError::new(XML_RPC_API, why)) } else { Ok(()) }
    }

    fn is_meant(self, caller: &AuthenticatedUser, one: &impl Owned) -> bool {
        let owner = one.owner();
        match self.whose {
            -4 => owner.gid == caller.gid,
            -3 => owner.uid == caller.uid,
            -2 => true,
            -1 => owner.uid == caller.uid || owner.gid == caller.gid,
            uid => owner.uid == uid,
        }
    }
}
