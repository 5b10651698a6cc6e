//! How fast new launches may come in: a few in a second for each organisation and provider. Counted in this process
//! alone; what all of them together may have under way is counted in the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloud::ProviderKind;
use engine::Timestamp;

pub struct EventRateLimit {
    per_second: u32,
    /// When the last place that was given away will be free again.
    taken: Mutex<HashMap<(String, ProviderKind), Timestamp>>,
}

/// As many as clients of the service before this one were used to.
const PER_SECOND: u32 = 5;
/// Beyond this, those who have not come for a second are forgotten.
const KEPT_MAX: usize = 10_000;

impl Default for EventRateLimit {
    fn default() -> Self {
        EventRateLimit::new(PER_SECOND)
    }
}

impl EventRateLimit {
    pub fn new(per_second: u32) -> EventRateLimit {
        EventRateLimit { per_second: per_second.max(1), taken: Mutex::default() }
    }

    /// Takes a place, or says when there will be one.
    pub fn enter(&self, org: &str, provider: ProviderKind, now: Timestamp) -> Result<(), Duration> {
        let second = Duration::from_secs(1);
        let one = second / self.per_second;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= KEPT_MAX {
            taken.retain(|_, free_at| *free_at > now);
        }
        let key = (org.to_owned(), provider);
        let free_at = taken.get(&key).copied().unwrap_or(now).max(now).plus(one);
        let full_until = now.plus(second);
        if free_at > full_until {
            return Err(free_at.since(full_until));
        }
        taken.insert(key, free_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_come_in_at_once_and_the_next_a_moment_later() {
        let event_rate = EventRateLimit::default();
        let now = Timestamp(1_000_000);
        for _ in 0..5 {
            event_rate.enter("1", ProviderKind::Aws, now).unwrap();
        }
        assert_eq!(event_rate.enter("1", ProviderKind::Aws, now), Err(Duration::from_millis(200)));
        event_rate.enter("2", ProviderKind::Aws, now).unwrap();
        event_rate.enter("1", ProviderKind::Noop, now).unwrap();
        let later = now.plus(Duration::from_millis(200));
        event_rate.enter("1", ProviderKind::Aws, later).unwrap();
        assert!(event_rate.enter("1", ProviderKind::Aws, later).is_err());
    }

    #[test]
    fn who_stays_away_is_forgotten() {
        let event_rate = EventRateLimit::default();
        let now = Timestamp(1_000_000);
        for org in 0..=KEPT_MAX {
            event_rate.enter(&org.to_string(), ProviderKind::Aws, now).unwrap();
        }
        let later = now.plus(Duration::from_secs(2));
        event_rate.enter("again", ProviderKind::Aws, later).unwrap();
        assert_eq!(event_rate.taken.lock().unwrap().len(), 1);
    }
}
