//! How many looks at builds this process takes in a second. Every look has its slot; those that come too fast get
//! a slot in the future.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::Timestamp;

/// Gives out slots at an even rate, a second's worth of them at once.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    /// Before this moment all slots are given away, but for the burst.
    next: Mutex<Timestamp>,
}

/// So many come through at once after a pause.
const BURST: Duration = Duration::from_secs(1);

impl RateLimit {
    pub fn new(per_second: u32) -> RateLimit {
        RateLimit { interval: Duration::from_secs(1) / per_second.max(1), next: Mutex::new(Timestamp(0)) }
    }

    /// A slot for a poll that is wanted now. It is granted, now or later.
    pub fn slot(&self, now: Timestamp) -> Timestamp {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = (*next).max(now);
        *next = slot.plus(self.interval);
        slot.minus(BURST.saturating_sub(self.interval)).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    #[test]
    fn a_burst_comes_through_and_the_rest_is_spread_evenly() {
        let rate_limit = RateLimit::new(10);
        let waits: Vec<u128> = (0..30).map(|_| rate_limit.slot(NOW).since(NOW).as_millis()).collect();
        assert_eq!(waits[..10], [0; 10]);
        assert_eq!(waits[10..], (1..=20).map(|slot| slot * 100).collect::<Vec<_>>());
    }

    #[test]
    fn no_second_has_more_slots_than_the_rate_and_one_burst() {
        let rate_limit = RateLimit::new(7);
        let mut slots = Vec::new();
        for ms in (0..10_000).step_by(37) {
            let now = NOW.plus(Duration::from_millis(ms));
            slots.push(rate_limit.slot(now));
        }
        for (index, slot) in slots.iter().enumerate() {
            let within = slots[index..].iter().filter(|other| other.since(*slot) < Duration::from_secs(1));
            assert!(within.count() <= 14, "at {slot}");
        }
    }

    #[test]
    fn a_pause_gives_no_more_than_one_burst() {
        let rate_limit = RateLimit::new(5);
        let late = NOW.plus(Duration::from_hours(1));
        let at_once = (0..20).filter(|_| rate_limit.slot(late) == late).count();
        assert_eq!(at_once, 5);
    }
}
