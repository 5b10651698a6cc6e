//! What an orchestration does next: decisions without effects.

use std::fmt::Write as _;
use std::time::Duration;

use engine::Timestamp;

use super::{OrchestrationRecord, OrchestrationState, TargetRecord, TargetState};
use crate::model::orchestration::window::Opening;

/// How the targets of an orchestration stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub pending: u64,
    pub in_progress: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub canceled: u64,
    pub skipped: u64,
}

impl Counts {
    pub fn total(&self) -> u64 {
        TargetState::ALL.into_iter().map(|state| self.of(state)).sum()
    }

    pub fn of(&self, state: TargetState) -> u64 {
        match state {
            TargetState::Pending => self.pending,
            TargetState::InProgress => self.in_progress,
            TargetState::Succeeded => self.succeeded,
            TargetState::Failed => self.failed,
            TargetState::Canceled => self.canceled,
            TargetState::Skipped => self.skipped,
        }
    }
}

/// How many more may begin now. The limits hold to the number: what runs counts, and what has begun.
pub fn slots(record: &OrchestrationRecord) -> usize {
    if record.state != OrchestrationState::InProgress || has_too_many_failures(record) {
        return 0;
    }
    let running = u32::try_from(record.running.len()).unwrap_or(u32::MAX);
    let free = record.strategy.workers.saturating_sub(running);
    let of_canary = match record.strategy.canary.filter(|_| !record.is_canary_over) {
        Some(first) => u64::from(first).saturating_sub(record.begun),
        None => u64::MAX,
    };
    usize::try_from(u64::from(free).min(of_canary)).unwrap_or(usize::MAX)
}

pub fn has_too_many_failures(record: &OrchestrationRecord) -> bool {
    record.strategy.max_failures.is_some_and(|most| record.failures >= most)
}

pub fn is_at_end_of_canary(record: &OrchestrationRecord) -> bool {
    let first = record.strategy.canary.filter(|_| !record.is_canary_over);
    first.is_some_and(|first| record.begun >= u64::from(first))
}

/// The state that follows once nothing runs, with what to say about it; `None` while there is more to do.
pub fn next_state(record: &OrchestrationRecord, counts: &Counts) -> Option<(OrchestrationState, String)> {
    if !record.running.is_empty() {
        return None;
    }
    match record.state {
        OrchestrationState::Canceling if counts.pending == 0 => {
            let text = format!("canceled; {} were not begun", runtimes(counts.canceled));
            Some((OrchestrationState::Canceled, text))
        }
        OrchestrationState::InProgress if counts.pending == 0 => Some(ended(counts)),
        OrchestrationState::InProgress if has_too_many_failures(record) => {
            let text = format!(
                "stopped after {}; {} not begun. Retry continues with all that are left",
                if record.failures == 1 {
                    "1 failure".to_owned()
                } else {
                    format!("{} failures", record.failures)
                },
                are(counts.pending),
            );
            Some((OrchestrationState::Failed, text))
        }
        OrchestrationState::InProgress if is_at_end_of_canary(record) => {
            let text = format!(
                "canary: {} upgraded, {} failed; resume to go on with the other {}",
                counts.succeeded, counts.failed, counts.pending
            );
            Some((OrchestrationState::Paused, text))
        }
        _ => None,
    }
}

fn ended(counts: &Counts) -> (OrchestrationState, String) {
    if counts.total() == 0 {
        return (OrchestrationState::Succeeded, "no runtime fits the targets".to_owned());
    }
    let mut text = format!("{} upgraded", runtimes(counts.succeeded));
    if counts.skipped > 0 {
        let _ = write!(text, ", {} skipped", counts.skipped);
    }
    if counts.failed > 0 {
        let _ = write!(text, ", {} failed", counts.failed);
        return (OrchestrationState::Failed, text);
    }
    (OrchestrationState::Succeeded, text)
}

fn runtimes(count: u64) -> String {
    if count == 1 { "1 runtime".to_owned() } else { format!("{count} runtimes") }
}

fn are(count: u64) -> String {
    if count == 1 { "1 runtime is".to_owned() } else { format!("{count} runtimes are") }
}

/// How long it will take at the pace until now; `None` while nothing has ended.
pub fn remaining(record: &OrchestrationRecord, counts: &Counts) -> Option<Duration> {
    let is_paused = record.state == OrchestrationState::Paused;
    if is_paused || record.state.is_final() || record.durations.count == 0 {
        return None;
    }
    let mean = record.durations.total_ms / record.durations.count;
    let left = counts.pending + counts.in_progress;
    let rounds = left.div_ceil(u64::from(record.strategy.workers.max(1)));
    Some(Duration::from_millis(mean.saturating_mul(rounds)))
}

/// When a target may begin: now, or later and why.
pub fn begins(
    target: &TargetRecord,
    opening: Option<Opening>,
    now: Timestamp,
) -> Option<(Timestamp, String)> {
    match opening.filter(|_| !target.is_immediate) {
        Some(opening) if now < opening.begin => {
            Some((opening.begin, format!("waits for its maintenance window at {}", opening.begin)))
        }
        _ => None,
    }
}

/// What an operator asks of an orchestration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrchestrationVerb {
    Pause,
    Resume,
    Cancel,
    Retry,
}

/// The state that follows from a request: nothing where it is so already, or an error that says why not.
pub fn asked(
    state: OrchestrationState,
    verb: OrchestrationVerb,
) -> Result<Option<OrchestrationState>, String> {
    use OrchestrationState::{Canceled, Canceling, Failed, InProgress, Paused, Pending, Retrying, Succeeded};
    let word = match verb {
        OrchestrationVerb::Pause => "paused",
        OrchestrationVerb::Resume => "resumed",
        OrchestrationVerb::Cancel => "canceled",
        OrchestrationVerb::Retry => "retried",
    };
    match (verb, state) {
        (OrchestrationVerb::Pause, Pending | InProgress | Retrying) => Ok(Some(Paused)),
        (OrchestrationVerb::Pause, Paused)
        | (OrchestrationVerb::Resume, Pending | InProgress | Retrying)
        | (OrchestrationVerb::Cancel, Canceling | Canceled)
        | (OrchestrationVerb::Retry, InProgress | Paused | Retrying) => Ok(None),
        (OrchestrationVerb::Resume, Paused) => Ok(Some(InProgress)),
        (OrchestrationVerb::Cancel, Pending | InProgress | Retrying | Paused) => Ok(Some(Canceling)),
        (OrchestrationVerb::Retry, Failed) => Ok(Some(Retrying)),
        (OrchestrationVerb::Pause | OrchestrationVerb::Resume, Canceling | Canceled | Succeeded | Failed)
        | (OrchestrationVerb::Cancel, Succeeded | Failed)
        | (OrchestrationVerb::Retry, Pending | Canceling | Canceled | Succeeded) => {
            Err(format!("an orchestration that is {} cannot be {word}", state.as_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::orchestration::{Change, RunningTarget, Strategy, TargetSpec, UpgradeKind};

    fn record(state: OrchestrationState, strategy: Strategy, running: u32) -> OrchestrationRecord {
        let running = (0..running)
            .map(|n| RunningTarget { instance_id: format!("i-{n}"), attempt: 0, operation: None })
            .collect();
        OrchestrationRecord {
            id: "o-1".into(),
            kind: UpgradeKind::Cluster,
            state,
            description: String::new(),
            created_by: "test".into(),
            targets: TargetSpec::default(),
            change: Change::default(),
            strategy,
            looked_until: None,
            is_resolved: true,
            running,
            begun: 0,
            failures: 0,
            is_canary_over: false,
            retry: None,
            durations: super::super::Durations::default(),
            finished_at: None,
            due_at: None,
        }
    }

    fn strategy(workers: u32, canary: Option<u32>, max_failures: Option<u32>) -> Strategy {
        Strategy { workers, in_window: false, begins_at: None, canary, max_failures }
    }

    #[test]
    fn no_limit_is_exceeded_by_one() {
        use OrchestrationState::{Canceling, InProgress, Paused, Pending};
        // workers, running, canary, begun, is_canary_over, max_failures, failures
        let table = [
            ((5, 0, None, 0, false, None, 0), 5),
            ((5, 4, None, 4, false, None, 0), 1),
            ((5, 5, None, 5, false, None, 0), 0),
            ((5, 7, None, 7, false, None, 0), 0),
            ((5, 0, Some(3), 0, false, None, 0), 3),
            ((5, 1, Some(3), 2, false, None, 0), 1),
            ((5, 0, Some(3), 3, false, None, 0), 0),
            ((5, 0, Some(3), 3, true, None, 0), 5),
            ((5, 0, None, 9, false, Some(2), 1), 5),
            ((5, 0, None, 9, false, Some(2), 2), 0),
            ((5, 3, None, 9, false, Some(1), 1), 0),
        ];
        for (case, expected) in table {
            let (workers, running, canary, begun, is_canary_over, most, failures) = case;
            let record = OrchestrationRecord {
                begun,
                failures,
                is_canary_over,
                ..record(InProgress, strategy(workers, canary, most), running)
            };
            assert_eq!(slots(&record), expected, "{case:?}");
        }
        for state in [Pending, Paused, Canceling] {
            assert_eq!(slots(&record(state, strategy(5, None, None), 0)), 0, "{state:?}");
        }
    }

    #[test]
    fn an_orchestration_ends_when_nothing_runs_and_nothing_is_left() {
        use OrchestrationState::{Canceled, Canceling, Failed, InProgress, Paused, Succeeded};
        let counts = |pending, succeeded, failed| Counts { pending, succeeded, failed, ..Counts::default() };
        let of = |state, running, strategy: Strategy, failures, begun, counts: Counts| {
            let record = OrchestrationRecord { begun, failures, ..record(state, strategy, running) };
            next_state(&record, &counts).map(|(state, _)| state)
        };
        let plain = || strategy(5, None, None);
        assert_eq!(of(InProgress, 1, plain(), 0, 1, counts(0, 0, 0)), None);
        assert_eq!(of(InProgress, 0, plain(), 0, 1, counts(1, 0, 0)), None);
        assert_eq!(of(InProgress, 0, plain(), 0, 3, counts(0, 3, 0)), Some(Succeeded));
        assert_eq!(of(InProgress, 0, plain(), 1, 3, counts(0, 2, 1)), Some(Failed));
        assert_eq!(of(InProgress, 0, strategy(5, None, Some(1)), 1, 3, counts(4, 2, 1)), Some(Failed));
        assert_eq!(of(InProgress, 1, strategy(5, None, Some(1)), 1, 3, counts(4, 2, 1)), None);
        assert_eq!(of(InProgress, 0, strategy(5, Some(3), None), 0, 3, counts(4, 3, 0)), Some(Paused));
        assert_eq!(of(InProgress, 0, strategy(5, Some(3), None), 0, 3, counts(0, 3, 0)), Some(Succeeded));
        assert_eq!(of(Canceling, 1, plain(), 0, 3, counts(0, 3, 0)), None);
        assert_eq!(of(Canceling, 0, plain(), 0, 3, counts(2, 3, 0)), None);
        assert_eq!(of(Canceling, 0, plain(), 0, 3, counts(0, 3, 0)), Some(Canceled));
        assert_eq!(of(Paused, 0, plain(), 0, 3, counts(0, 3, 0)), None);
    }

    #[test]
    fn requests_follow_one_table() {
        use OrchestrationState as S;
        use OrchestrationVerb::{Cancel, Pause, Resume, Retry};
        for state in S::ALL {
            let is_open = !state.is_final() && state != S::Canceling;
            assert_eq!(asked(state, Pause).is_ok(), is_open, "pause {state:?}");
            assert_eq!(asked(state, Resume).is_ok(), is_open, "resume {state:?}");
            let ends = !matches!(state, S::Succeeded | S::Failed);
            assert_eq!(asked(state, Cancel).is_ok(), ends, "cancel {state:?}");
            let again = matches!(state, S::Failed | S::InProgress | S::Paused | S::Retrying);
            assert_eq!(asked(state, Retry).is_ok(), again, "retry {state:?}");
        }
        assert_eq!(asked(S::Paused, Resume), Ok(Some(S::InProgress)));
        assert_eq!(asked(S::Failed, Retry), Ok(Some(S::Retrying)));
        assert_eq!(asked(S::Canceled, Cancel), Ok(None));
    }

    #[test]
    fn the_estimate_follows_the_mean_and_the_workers() {
        let mut record = record(OrchestrationState::InProgress, strategy(5, None, None), 0);
        let counts = Counts { pending: 9, in_progress: 2, ..Counts::default() };
        assert_eq!(remaining(&record, &counts), None);
        record.durations = super::super::Durations { count: 4, total_ms: 8_000 };
        assert_eq!(remaining(&record, &counts), Some(Duration::from_secs(6)));
        for state in [OrchestrationState::Paused, OrchestrationState::Succeeded] {
            record.state = state;
            assert_eq!(remaining(&record, &counts), None);
        }
    }

    #[test]
    fn a_window_that_is_over_moves_by_a_day() {
        let now = Timestamp::parse("2026-11-18T02:30:00Z").unwrap();
        let target = TargetRecord {
            orchestration: "o-1".into(),
            id: TargetRecord::id_of("o-1", "i-1"),
            instance_id: "i-1".into(),
            runtime_id: "rt-1".into(),
            account: String::new(),
            subaccount: String::new(),
            plan_id: String::new(),
            plan: String::new(),
            region: String::new(),
            shoot: String::new(),
            state: TargetState::Pending,
            description: String::new(),
            attempt: 0,
            operation: None,
            is_immediate: false,
            window: None,
            begins_at: now,
            finished_at: None,
        };
        let yesterday =
            Opening { begin: now.minus(Duration::from_hours(4)), end: now.minus(Duration::from_mins(30)) };
        let next = Opening {
            begin: yesterday.begin.plus(Duration::from_hours(24)),
            end: yesterday.end.plus(Duration::from_hours(24)),
        };
        assert_eq!(begins(&target, Some(next), now).map(|(at, _)| at), Some(next.begin));
        assert_eq!(begins(&target, Some(next), next.begin), None);
        assert_eq!(begins(&target, None, now), None);
        let immediate = TargetRecord { is_immediate: true, ..target };
        assert_eq!(begins(&immediate, Some(next), now), None);
    }
}
