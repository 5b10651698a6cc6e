//! Messages from outside, as the store keeps them until a step reads them.

use serde_json::Value;

/// What the outside said under a key, as a claim found it.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub key: String,
    pub payload: Value,
    /// Tells this signal from a later one with the same key.
    pub number: i64,
}

/// How much may be unread under the keys of one sender. A signal that ends a wait at once is always taken, and so is one
/// that replaces another of its key and is no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalLimit {
    /// How all keys of the sender begin. It ends with `/`.
    pub prefix: String,
    pub signals_max: u64,
    pub bytes_max: u64,
}

impl SignalLimit {
    /// The first text behind all keys with the prefix, in the order of their bytes.
    pub fn end(&self) -> String {
        format!("{}0", self.prefix.trim_end_matches('/'))
    }

    /// Whether one more of so many bytes fits beside these.
    pub fn has_room(&self, signals: u64, bytes: u64, more: u64) -> bool {
        signals < self.signals_max && bytes.saturating_add(more) <= self.bytes_max
    }
}

/// Names the one signal that an event takes over. A later one with the same key stays in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSignal {
    pub key: String,
    pub number: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_sender_are_those_with_its_prefix() {
        let limit = SignalLimit { prefix: "op-1/".into(), signals_max: 2, bytes_max: 10 };
        let is_own = |key: &str| (limit.prefix.as_str()..limit.end().as_str()).contains(&key);
        for own in ["op-1/", "op-1/a", "op-1/a/b", "op-1/\u{10ffff}"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["op-1", "op-1.", "op-10/a", "op-10", "op-2/a", "op-0/a", ""] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn there_is_room_for_the_last_one_and_the_last_byte() {
        let limit = SignalLimit { prefix: "op-1/".into(), signals_max: 2, bytes_max: 10 };
        for (signals, bytes, more, has_room) in
            [(0, 0, 10, true), (1, 4, 6, true), (1, 4, 7, false), (2, 0, 1, false), (0, u64::MAX, 1, false)]
        {
            assert_eq!(limit.has_room(signals, bytes, more), has_room, "{signals} {bytes} {more}");
        }
    }
}
