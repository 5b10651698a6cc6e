//! How far the clock of this process is from the clock of the database. Leases and the order of requests go by the
//! database; waits, deadlines and retention go by the clock of the process, and end early or late where that is wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Timestamp;
use tracing::{info, warn};

const SKEW_MAX: Duration = Duration::from_secs(2);

/// Says it once when the clocks begin to differ, and once when they agree again.
#[derive(Default)]
pub(super) struct ClockSkew {
    is_off: AtomicBool,
}

impl ClockSkew {
    /// The database told its time after `sent` and before `received`, which are times of this process.
    pub(super) fn note(&self, sent: Timestamp, received: Timestamp, told: Timestamp) {
        let (ahead, behind) = difference(sent, received, told);
        let is_off = ahead.max(behind) > SKEW_MAX;
        match (self.is_off.swap(is_off, Ordering::AcqRel), is_off) {
            (false, true) => warn!(
                ?ahead,
                ?behind,
                "the clock of this server differs from the database's: waits and deadlines end early or late"
            ),
            (true, false) => info!("the clocks of this server and of the database agree again"),
            _ => {}
        }
    }
}

/// By how much this process is ahead and behind at least. What the answer took is no difference.
fn difference(sent: Timestamp, received: Timestamp, told: Timestamp) -> (Duration, Duration) {
    (sent.since(told), told.since(received))
}

/// What is older than this for a process whose clock says `now`, and for the database, which says `told`. Otherwise one
/// process whose clock is far ahead would prune what all others keep.
pub(super) fn no_later_than(before: Timestamp, now: Timestamp, told: Timestamp) -> Timestamp {
    before.min(told.minus(now.since(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_by_what_the_way_to_the_database_does_not_explain() {
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        for (sent, received, told, ahead, behind) in [
            (100, 100, 100, 0, 0),
            (100, 109, 100, 0, 0),
            (100, 109, 109, 0, 0),
            (100, 109, 112, 0, 3),
            (100, 109, 97, 3, 0),
        ] {
            let expected = (Duration::from_secs(ahead), Duration::from_secs(behind));
            assert_eq!(difference(at(sent), at(received), at(told)), expected, "{sent} {received} {told}");
        }
    }

    #[test]
    fn a_clock_that_is_ahead_makes_nothing_older() {
        for (before, now, told, expected) in
            [(70, 100, 100, 70), (70, 100, 101, 70), (1070, 1100, 100, 70), (20, 50, 100, 20)]
        {
            let bound = no_later_than(Timestamp(before), Timestamp(now), Timestamp(told));
            assert_eq!(bound, Timestamp(expected), "{before} {now} {told}");
        }
    }

    #[test]
    fn it_is_told_when_it_begins_and_when_it_ends() {
        let skew = ClockSkew::default();
        let mut told = Vec::new();
        for database in [0, 2_000_000, 2_000_001, 9_000_000, 0] {
            skew.note(Timestamp(0), Timestamp(0), Timestamp(database));
            told.push(skew.is_off.load(Ordering::Acquire));
        }
        assert_eq!(told, [false, false, true, true, false]);
    }
}
