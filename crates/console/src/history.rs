//! What ended in each minute of the last hour. It comes from the database, so it holds for all nodes and survives a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Timestamp;
use engine::store::EndedOperations;
use server::Inside;

const EVERY: Duration = Duration::from_secs(5);
pub(crate) const MINUTE: Duration = Duration::from_mins(1);
pub(crate) const MINUTES: i64 = 60;
/// The newest ends that are read; where an hour has more, the charts begin later.
const ENDS_MAX: usize = 100_000;

/// The minutes of the last hour, each under its number since the epoch.
#[derive(Clone, Default)]
pub(crate) struct History {
    kept: Arc<Mutex<HistoryCache>>,
}

#[derive(Default)]
struct HistoryCache {
    minutes: BTreeMap<i64, EndedOperations>,
    last: i64,
}

impl History {
    /// Begins to read; ends with the process.
    pub(crate) fn start(inside: &Inside) -> History {
        let history = History::default();
        tokio::spawn(history.clone().keep_reading(inside.clone()));
        history
    }

    /// Oldest first; nothing before the database was read.
    pub(crate) fn minutes(&self) -> Vec<EndedOperations> {
        let kept = self.open();
        if kept.last == 0 {
            return Vec::new();
        }
        let all = kept.last - MINUTES + 1..=kept.last;
        all.map(|minute| kept.minutes.get(&minute).copied().unwrap_or_default()).collect()
    }

    fn open(&self) -> MutexGuard<'_, HistoryCache> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn keep_reading(self, inside: Inside) {
        let mut clock = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                () = inside.closing().cancelled() => return,
                _ = clock.tick() => {}
            }
            let now = inside.engine().now();
            let (first, last) = self.open().unread(now);
            let from = Timestamp(first * micros());
            // Without an answer the minutes are read the next time.
            let Ok(ended) = inside.engine().history(from, MINUTE, ENDS_MAX).await else { continue };
            self.open().learn(first, last, ended);
        }
    }
}

impl HistoryCache {
    /// The minutes that may have changed. Ends of the minute before may be written a moment later.
    fn unread(&self, now: Timestamp) -> (i64, i64) {
        let last = now.0 / micros();
        ((self.last - 1).max(last - MINUTES + 1), last)
    }

    fn learn(&mut self, first: i64, last: i64, ended: Vec<EndedOperations>) {
        self.minutes.retain(|minute, _| *minute < first && *minute > last - MINUTES);
        self.minutes.extend(ended.into_iter().map(|one| (first + i64::from(one.nth), one)));
        self.last = last;
    }
}

fn micros() -> i64 {
    i64::try_from(MINUTE.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_minutes_are_read_again_and_old_ones_are_forgotten() {
        let mut kept = HistoryCache::default();
        let at = |minute: i64| Timestamp(minute * micros() + 1);
        let (first, last) = kept.unread(at(1000));
        assert_eq!((first, last), (941, 1000));
        let ended = |nth, count| EndedOperations { nth, count, ..EndedOperations::default() };
        kept.learn(first, last, vec![ended(0, 7), ended(59, 1)]);
        let (first, last) = kept.unread(at(1001));
        assert_eq!((first, last), (999, 1001));
        kept.learn(first, last, vec![ended(1, 5)]);
        assert_eq!(kept.minutes.iter().map(|(at, one)| (*at, one.count)).collect::<Vec<_>>(), [(1000, 5)]);
    }
}
