//! A cache with a time to live and a bounded size.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Timestamp;

const ENTRIES_MAX: usize = 4096;

pub struct TtlCache<K, V>(Mutex<HashMap<K, (V, Timestamp)>>);

impl<K, V> Default for TtlCache<K, V> {
    fn default() -> Self {
        TtlCache(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    fn open(&self) -> MutexGuard<'_, HashMap<K, (V, Timestamp)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn find<Q>(&self, key: &Q, now: Timestamp, lasts: Duration) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.open().get(key).filter(|(_, at)| is_fresh(*at, now, lasts)).map(|(value, _)| value.clone())
    }

    pub fn keep(&self, key: K, value: V, now: Timestamp, lasts: Duration) {
        let mut entries = self.open();
        if entries.len() >= ENTRIES_MAX {
            entries.retain(|_, (_, at)| is_fresh(*at, now, lasts));
        }
        if entries.len() >= ENTRIES_MAX {
            entries.clear();
        }
        entries.insert(key, (value, now));
    }

    pub fn forget(&self, is_bad: impl Fn(&V) -> bool) {
        self.open().retain(|_, (value, _)| !is_bad(value));
    }
}

/// A clock that was set back makes an entry from the future, which counts for nothing.
fn is_fresh(at: Timestamp, now: Timestamp, lasts: Duration) -> bool {
    at <= now && now.since(at) < lasts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Timestamp {
        Timestamp(0).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_value_is_remembered_as_long_as_it_may_be_and_under_its_key_alone() {
        let cache = TtlCache::default();
        cache.keep("a", 1, at(10), MINUTE);
        assert_eq!(cache.find("a", at(69), MINUTE), Some(1));
        assert_eq!(cache.find("a", at(70), MINUTE), None);
        assert_eq!(cache.find("a", at(10), Duration::ZERO), None, "it is not to be remembered");
        assert_eq!(cache.find("a", at(9), MINUTE), None, "the clock was set back");
        assert_eq!(cache.find("b", at(10), MINUTE), None);
        cache.forget(|value| *value == 1);
        assert_eq!(cache.find("a", at(10), MINUTE), None);
    }

    #[test]
    fn the_memory_stays_small() {
        let cache = TtlCache::default();
        for number in 0..ENTRIES_MAX * 3 {
            cache.keep(number, (), at(1), MINUTE);
        }
        assert!(cache.open().len() <= ENTRIES_MAX);
    }
}
