//! Waiting for the last operation on an instance or a binding.

use std::time::Duration;

use anyhow::Result;
use api::client::{PollInterval, PollResult};
use clap::Args;

use crate::client::{BrokerAnswer, BrokerClient, Ids, LastOperation, OperationSubject, State};
use app::cmd::wait::{WaitResult, Waiting};
use app::config::Period;
use app::hint;
use app::output::{ProgressPrinter, printable};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A broker may ask for patience, within reason.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(100);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// When neither the plan nor the user says how long.
const LIMIT: Duration = Duration::from_hours(1);
const REMOVED: LastOperation = LastOperation {
    state: State::Succeeded,
    description: None,
    instance_usable: None,
    update_repeatable: None,
};

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it fails
    #[arg(long, short)]
    pub(super) wait: bool,
    /// How long to wait; exit code 4 when the time is over [default: what the plan says, else 1h]
    #[arg(long, value_name = "TIME")]
    pub(super) timeout: Option<Period>,
}

impl WaitArgs {
    /// The shorter one of what the user and the plan say.
    pub(super) fn limit(&self, plan_seconds: Option<u64>) -> Duration {
        let ours = self.timeout.map(Period::get);
        let theirs = plan_seconds.map(Duration::from_secs);
        ours.into_iter().chain(theirs).min().unwrap_or(LIMIT)
    }
}

/// What is waited for, and for how long.
#[derive(Debug)]
pub(super) struct WaitTarget<'a> {
    pub(super) subject: &'a OperationSubject,
    pub(super) ids: Option<&'a Ids>,
    pub(super) operation: Option<&'a str>,
    /// To be gone is what is wanted.
    pub(super) is_removal: bool,
    pub(super) limit: Duration,
}

impl WaitTarget<'_> {
    pub(super) async fn wait(&self, broker: &BrokerClient) -> Result<WaitResult<LastOperation>> {
        let look = async || {
            let look = broker.last_operation(self.subject, self.ids, self.operation).await;
            let BrokerAnswer { body, retry_after, .. } = match look {
                // What was to be removed is gone.
                Err(error) if self.is_removal && error.is_absent() => return Ok(PollResult::over(REMOVED)),
                look => look?,
            };
            if body.state != State::InProgress {
                return Ok(PollResult::over(body));
            }
            let (words, pause) = (in_words(&body), retry_after.map(within_reason));
            Ok(PollResult { pause, ..PollResult::going(body, words) })
        };
        let OperationSubject { instance, binding } = self.subject;
        let what = match binding {
            Some(binding) => format!("binding {binding}"),
            None => format!("instance {instance}"),
        };
        let (limit, way_back) = (self.limit, way_back(self.subject));
        let interval = PollInterval::new(FIRST_PAUSE, LONGEST_PAUSE, Some(limit));
        let waiting = Waiting { what, way_back, interval, limit };
        waiting.until(&broker.http, &mut ProgressPrinter::to_stderr(), look).await
    }
}

/// How to see later what becomes of it.
pub(super) fn way_back(subject: &OperationSubject) -> String {
    let OperationSubject { instance, binding } = subject;
    match binding {
        Some(binding) => hint::command(&format!("instances show {instance} --binding {binding} --wait")),
        None => hint::command(&format!("instances show {instance} --wait")),
    }
}

fn within_reason(asked: Duration) -> Duration {
    asked.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX)
}

/// `in progress: waiting for the cluster`.
pub(super) fn in_words(operation: &LastOperation) -> String {
    let state = match operation.state {
        State::InProgress => "in progress",
        State::Succeeded => "succeeded",
        State::Failed => "failed",
    };
    match operation.description.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(description) => format!("{state}: {}", printable(description)),
        None => state.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_may_ask_for_patience_within_reason() {
        for (asked_ms, expected_ms) in [(0, 100), (100, 100), (9_000, 9_000), (86_400_000, 30_000)] {
            let pause = within_reason(Duration::from_millis(asked_ms));
            assert_eq!(pause, Duration::from_millis(expected_ms), "{asked_ms}");
        }
    }

    #[test]
    fn the_shorter_limit_counts() {
        let limit = |timeout, plan| WaitArgs { wait: true, timeout }.limit(plan);
        assert_eq!(limit(None, None), LIMIT);
        assert_eq!(limit(None, Some(5)), Duration::from_secs(5));
        assert_eq!(limit(Some(Period::seconds(9)), Some(5)), Duration::from_secs(5));
        assert_eq!(limit(Some(Period::seconds(3)), Some(5)), Duration::from_secs(3));
        assert_eq!(limit(Some(Period::hours(3)), None), Duration::from_hours(3));
    }
}
