//! What an outcome means for the operation: decided purely, carried out by the runner.

use std::time::Duration;

use crate::budget::{Budget, RetryPolicy};
use crate::outcome::{Abandon, Cause, Done, Halt, Outcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Next,
    Unneeded(Cause),
    Skip(Cause),
    Sleep { delay: Duration, reason: String, key: Option<String> },
    TryAgain { delay: Duration, spent: Budget, cause: Cause },
    GiveUp(Cause),
    AskPerson(Cause),
    LetGo(Abandon),
}

/// What is known about the step that answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepStanding {
    pub(crate) policy: RetryPolicy,
    pub(crate) spent: Budget,
    /// Where it would fail, it is skipped.
    pub(crate) is_clean_up: bool,
    pub(crate) chance: u64,
}

/// No step sleeps longer without looking again, whatever it asked for.
const SLEEP_MAX: Duration = Duration::from_hours(24 * 30);

pub(crate) fn decide(outcome: Outcome, standing: StepStanding) -> Verdict {
    match outcome {
        Ok(Done::Complete) => Verdict::Next,
        Ok(Done::Unneeded { reason }) => Verdict::Unneeded(reason),
        Ok(Done::Skipped { cause }) => Verdict::Skip(cause),
        Err(Halt::Wait { after, reason, key }) => Verdict::Sleep { delay: after.min(SLEEP_MAX), reason, key },
        Err(Halt::Retry { after, cause }) => {
            match standing.policy.next_delay(standing.spent, after, standing.chance) {
                Some(delay) => Verdict::TryAgain { delay, spent: standing.spent.spend(delay), cause },
                None => give_up(gave_up_after(standing.spent, &cause), standing),
            }
        }
        Err(Halt::Fail { cause }) => give_up(cause, standing),
        Err(Halt::Unknown { cause }) => Verdict::AskPerson(cause),
        Err(Halt::LetGo(why)) => Verdict::LetGo(why),
    }
}

fn give_up(cause: Cause, standing: StepStanding) -> Verdict {
    if standing.is_clean_up { Verdict::Skip(cause) } else { Verdict::GiveUp(cause) }
}

fn gave_up_after(spent: Budget, cause: &Cause) -> Cause {
    let seconds = Duration::from_millis(spent.spent_ms).as_secs_f64();
    Cause::from(format!("gave up after {} attempts in {seconds:.1} s: {cause}", spent.attempts + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{done, fail, retry, skip, wait, wait_for};

    const SPENT: Budget = Budget { attempts: 9, spent_ms: 600_000 };

    #[track_caller]
    fn check(outcome: Outcome, spent: Budget, is_clean_up: bool, expect: &str) {
        let standing = StepStanding { policy: RetryPolicy::default(), spent, is_clean_up, chance: 0 };
        assert_eq!(format!("{:?}", decide(outcome, standing)), expect);
    }

    #[test]
    fn a_wait_is_free_but_a_retry_spends_the_budget() {
        let minute = Duration::from_secs(60);
        check(
            wait(minute, "building"),
            SPENT,
            false,
            r#"Sleep { delay: 60s, reason: "building", key: None }"#,
        );
        check(
            wait_for("k", minute, "building"),
            SPENT,
            false,
            r#"Sleep { delay: 60s, reason: "building", key: Some("k") }"#,
        );
        check(
            retry("no answer"),
            SPENT,
            false,
            r#"GiveUp(Cause("gave up after 10 attempts in 600.0 s: no answer"))"#,
        );
        check(
            retry("no answer"),
            Budget::default(),
            false,
            r#"TryAgain { delay: 500ms, spent: Budget { attempts: 1, spent_ms: 500 }, cause: Cause("no answer") }"#,
        );
    }

    #[test]
    fn a_clean_up_never_stops_the_operation() {
        check(fail("no"), Budget::default(), true, r#"Skip(Cause("no"))"#);
        check(retry("no"), SPENT, true, r#"Skip(Cause("gave up after 10 attempts in 600.0 s: no"))"#);
        check(fail("no"), Budget::default(), false, r#"GiveUp(Cause("no"))"#);
    }

    #[test]
    fn done_goes_on_and_skip_says_why() {
        check(done(), SPENT, false, "Next");
        check(skip("gone already"), SPENT, false, r#"Skip(Cause("gone already"))"#);
    }
}
