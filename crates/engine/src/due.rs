//! Goes through the records that are due. A record that cannot be handled keeps none of the others waiting: the sweep
//! goes past it, and tries it again later and later.

use std::collections::HashMap;
use std::time::Duration;

use crate::store::{ResourceQuery, ResourceRow, StoreError};
use crate::{Engine, Resource, SubmitError, Timestamp};
use tracing::warn;

/// What became of a record that was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// It is not due any longer.
    Done,
    /// It was handled, and stays due until that has had its effect.
    Begun,
    /// An operation or another node has it.
    Left,
}

/// How many records one sweep handled, and how many it left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub handled: usize,
    pub left: usize,
}

/// The records that failed, and when each is tried again. One for each sweeper, for as long as that runs.
#[derive(Debug, Default)]
pub struct Backoff {
    failed: HashMap<String, Failed>,
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    version: i64,
    times: u32,
    again_at: Timestamp,
}

const PAGE: usize = 100;
/// One sweep ends after so many, so that others get their turn.
const HANDLED_MAX: usize = 1000;
/// Far more than fail at a time. What does not fit is tried on every sweep.
const FAILED_MAX: usize = 10_000;
const AGAIN_FIRST: Duration = Duration::from_secs(5);
const AGAIN_MAX: Duration = Duration::from_hours(1);

/// Handles all records of a kind that are due, the oldest first. Only an error of the store itself ends the sweep.
pub async fn sweep<R: Resource, F>(
    engine: &Engine,
    now: Timestamp,
    backoff: &mut Backoff,
    handle: impl Fn(ResourceRow, R) -> F,
) -> Result<Swept, StoreError>
where
    F: Future<Output = Result<Handled, SubmitError>>,
{
    let (mut swept, mut offset) = (Swept::default(), 0);
    loop {
        let query = ResourceQuery {
            kind: R::KIND.to_owned(),
            due_by: Some(now),
            offset,
            limit: PAGE,
            ..ResourceQuery::default()
        };
        let rows = engine.resources(&query).await?.rows;
        let is_last = rows.len() < PAGE;
        for row in rows {
            let handled = if backoff.rests(&row, now) {
                Handled::Left
            } else {
                let (name, version) = (row.name.clone(), row.version);
                let handled = match serde_json::from_str(&row.record) {
                    Ok(record) => handle(row, record).await,
                    Err(error) => Err(SubmitError::Invalid(format!("its record cannot be read: {error}"))),
                };
                backoff.note(name, version, now, handled)?
            };
            // What stays due stays in the list, in front of the next page.
            offset += usize::from(handled != Handled::Done);
            match handled {
                Handled::Done | Handled::Begun => swept.handled += 1,
                Handled::Left => swept.left += 1,
            }
        }
        if is_last || swept.handled >= HANDLED_MAX {
            return Ok(swept);
        }
    }
}

impl Backoff {
    /// Whether the record failed a moment ago and has not changed since.
    fn rests(&self, row: &ResourceRow, now: Timestamp) -> bool {
        self.failed
            .get(&row.name)
            .is_some_and(|failed| failed.version == row.version && now < failed.again_at)
    }

    /// Only errors that concern all records are handed on.
    fn note(
        &mut self,
        name: String,
        version: i64,
        now: Timestamp,
        handled: Result<Handled, SubmitError>,
    ) -> Result<Handled, StoreError> {
        let error = match handled {
            Ok(handled) => {
                self.failed.remove(&name);
                return Ok(handled);
            }
            Err(SubmitError::Changed | SubmitError::Busy { .. }) => return Ok(Handled::Left),
            Err(SubmitError::Store(error)) if error.may_heal() => return Err(error),
            Err(error) => error,
        };
        let times = self.failed.get(&name).map_or(0, |failed| failed.times).saturating_add(1);
        let pause = AGAIN_FIRST.saturating_mul(1 << (times - 1).min(16)).min(AGAIN_MAX);
        warn!(resource = name, %error, retry_in = ?pause, "due record skipped: handling it failed");
        if self.failed.len() < FAILED_MAX || self.failed.contains_key(&name) {
            self.failed.insert(name, Failed { version, times, again_at: now.plus(pause) });
        }
        Ok(Handled::Left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_failures_are_remembered_and_those_that_are_go_on_counting() {
        let mut backoff = Backoff::default();
        let mut fail = |number: usize| {
            let error = SubmitError::Invalid("no".into());
            backoff.note(format!("job:{number}"), 1, Timestamp(0), Err(error)).unwrap();
            (backoff.failed.len(), backoff.failed.get("job:0").map(|failed| failed.times))
        };
        for number in 0..FAILED_MAX {
            assert_eq!(fail(number), (number + 1, Some(1)));
        }
        assert_eq!(fail(FAILED_MAX), (FAILED_MAX, Some(1)), "one more is not remembered");
        assert_eq!(fail(0), (FAILED_MAX, Some(2)), "one of those is");
    }
}
