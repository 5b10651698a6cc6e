//! How often a step may try again, and what is left of that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a step tries again after something broke that may heal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The delay before the second try; it doubles with every further one.
    pub first: Duration,
    /// No delay is longer than this, unless the external system asked for it.
    pub max: Duration,
    /// All delays together; when they exceed this, the step fails.
    pub budget: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            first: Duration::from_secs(1),
            max: Duration::from_secs(60),
            budget: Duration::from_secs(600),
        }
    }
}

/// What a step has spent since it last got on. Saved with the operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub attempts: u32,
    pub spent_ms: u64,
}

impl RetryPolicy {
    /// The next delay, with jitter so that a thousand operations do not come back at once: between half of the
    /// back-off and all of it. `None` when the budget does not allow it.
    pub fn next_delay(&self, spent: Budget, asked: Option<Duration>, chance: u64) -> Option<Duration> {
        let doubled = self.first.saturating_mul(1 << spent.attempts.min(20));
        let ceiling = u64::try_from(doubled.min(self.max).as_millis()).unwrap_or(u64::MAX).max(1);
        let half = ceiling / 2;
        let jittered = Duration::from_millis(half + chance % (ceiling - half + 1));
        let delay = jittered.max(asked.unwrap_or_default()).max(Duration::from_millis(1));
        let total = Duration::from_millis(spent.spent_ms).saturating_add(delay);
        (total <= self.budget).then_some(delay)
    }
}

impl Budget {
    /// The budget after one more attempt that is followed by this delay.
    #[must_use]
    pub fn spend(self, delay: Duration) -> Budget {
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        Budget { attempts: self.attempts.saturating_add(1), spent_ms: self.spent_ms.saturating_add(delay_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_stay_within_their_limits_and_end() {
        let policy = RetryPolicy::default();
        let mut spent = Budget::default();
        let mut delays = 0;
        while let Some(delay) = policy.next_delay(spent, None, u64::MAX - 7) {
            assert!(delay >= Duration::from_millis(500) && delay <= policy.max, "{delay:?}");
            spent = spent.spend(delay);
            delays += 1;
            assert!(delays < 1000, "a budget must end");
        }
        assert!(delays > 8, "{delays}");
        assert!(Duration::from_millis(spent.spent_ms) <= policy.budget);
    }

    #[test]
    fn a_delay_is_between_half_of_the_doubled_one_and_all_of_it() {
        let policy = RetryPolicy::default();
        let table = [
            (0, 0, 500),
            (0, 500, 1000),
            (0, 501, 500),
            (3, 0, 4000),
            (3, 1, 4001),
            (3, 4000, 8000),
            (3, 4001, 4000),
            (6, 0, 30_000),
            (6, 30_000, 60_000),
            (u32::MAX, 30_001, 30_000),
        ];
        for (attempts, chance, expected_ms) in table {
            let spent = Budget { attempts, spent_ms: 0 };
            let expected = Some(Duration::from_millis(expected_ms));
            assert_eq!(policy.next_delay(spent, None, chance), expected, "{attempts} {chance}");
        }
        let (last, over) =
            (Budget { attempts: 0, spent_ms: 599_500 }, Budget { attempts: 0, spent_ms: 599_501 });
        assert_eq!(policy.next_delay(last, None, 0), Some(Duration::from_millis(500)), "all of the budget");
        assert_eq!(policy.next_delay(over, None, 0), None);
        assert_eq!(last.spend(Duration::from_millis(7)), Budget { attempts: 1, spent_ms: 599_507 });
    }

    #[test]
    fn the_external_system_may_ask_for_more_time_but_not_for_more_budget() {
        let policy = RetryPolicy::default();
        let asked = Some(Duration::from_secs(300));
        assert_eq!(policy.next_delay(Budget::default(), asked, 0), asked);
        let spent = Budget { attempts: 1, spent_ms: 400_000 };
        assert_eq!(policy.next_delay(spent, asked, 0), None);
    }
}
