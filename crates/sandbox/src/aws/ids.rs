//! Names that AWS makes up: a prefix and seventeen hexadecimal digits, never the same twice.

use std::hash::{BuildHasher, RandomState};

/// Odd, so that multiplying by it never brings two numbers together.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(super) struct Ids {
    /// Another one in each sandbox, so that an id of one is unknown in the next.
    seed: u64,
    last: u64,
}

impl Ids {
    pub(super) fn new() -> Self {
        Ids { seed: RandomState::new().hash_one(SPREAD), last: 0 }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last.wrapping_mul(SPREAD) ^ self.seed
    }

    pub(super) fn make(&mut self, prefix: &str) -> String {
        format!("{prefix}-0{:016x}", self.next())
    }

    pub(super) fn key_id(&mut self) -> String {
        format!("ASIA{:016X}", self.next())
    }
}

/// Whether a text could be such a name; old ones have eight digits.
pub(super) fn is_well_formed(id: &str, prefix: &str) -> bool {
    let digits = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| {
        matches!(digits.len(), 8 | 17) && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_well_formed_and_differ() {
        let mut ids = Ids::new();
        let made: std::collections::BTreeSet<String> = (0..1000).map(|_| ids.make("i")).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|id| is_well_formed(id, "i")));
        assert!(!is_well_formed("i-12345", "i") && !is_well_formed("ami-12345678", "i"));
    }
}
