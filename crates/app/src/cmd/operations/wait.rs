//! Waits until an operation reaches a phase.

use std::cell::Cell;
use std::time::Duration;

use anyhow::Result;
use api::client::{CallError, PollInterval, PollResult, WaitEvent};
use api::types::{Operation, OperationDetail, Phase, StepState, Verb};
use clap::Args;
use engine::{Clock, WallClock};
use uuid::Uuid;

use super::rows::timestamp;
use crate::client::PlatformClient;
use crate::cmd::wait::{WaitResult, Waiting};
use crate::config::Period;
use crate::exit::Exit;
use crate::hint;
use crate::output::{ProgressPrinter, note};

const FIRST_LOOK: Duration = Duration::from_millis(20);
const SLOWEST_LOOK: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it ends badly
    #[arg(long, short)]
    pub(super) wait: bool,
    /// How long to wait, and to look for a server that is away; exit code 4 when the time is over
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(super) timeout: Period,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Success,
    Cancelled,
    Paused,
}

impl From<Verb> for Goal {
    fn from(verb: Verb) -> Goal {
        match verb {
            Verb::Cancel => Goal::Cancelled,
            Verb::Pause => Goal::Paused,
            Verb::Resume | Verb::Retry => Goal::Success,
        }
    }
}

impl Goal {
    /// Whether it was reached, once nothing more will happen by itself; nothing while it may.
    pub(super) fn verdict(self, phase: Phase, has_control: bool) -> Option<bool> {
        match (self, phase) {
            (Goal::Success, Phase::Succeeded) | (Goal::Cancelled, Phase::Cancelled) => Some(true),
            (Goal::Paused, Phase::Paused) if !has_control => Some(true),
            // An operator just asked it to go on, so it will not stay stuck.
            (_, Phase::Stuck) if has_control => None,
            (_, phase) if phase.is_final() || phase == Phase::Stuck => Some(false),
            _ => None,
        }
    }

    pub(super) fn exit(self, phase: Phase) -> Exit {
        if self.verdict(phase, false) == Some(true) { Exit::GOOD } else { Exit::OPERATION_FAILED }
    }
}

/// One look at an operation.
pub(super) async fn look(
    client: &PlatformClient,
    id: Uuid,
    goal: Goal,
) -> Result<PollResult<Operation>, CallError> {
    let detail = client.show(id).await?;
    let is_over = goal.verdict(detail.operation.phase, detail.operation.asked.is_some()).is_some();
    if is_over {
        return Ok(PollResult::over(detail.operation));
    }
    let (words, now) = (in_words(&detail), WallClock.now());
    let next_attempt = detail.next_attempt.map(|at| timestamp(at).since(now));
    Ok(PollResult { next_attempt, ..PollResult::going(detail.operation, words) })
}

/// `waiting at greet: the greeter answered 503`.
fn in_words(detail: &OperationDetail) -> String {
    let operation = &detail.operation;
    let is_at = |state| matches!(state, StepState::Running | StepState::Waiting | StepState::Retrying);
    let step = detail.steps.iter().find(|step| is_at(step.state));
    let at = step.map(|step| format!(" at {}", step.name)).unwrap_or_default();
    let cause = step.and_then(|step| step.cause.as_ref()).or(operation.reason.as_ref());
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{}{at}{cause}", operation.phase)
}

/// Waits for one operation and makes an error of a wait that was too short.
pub(super) async fn wait_or_fail(
    client: &PlatformClient,
    id: Uuid,
    goal: Goal,
    limit: Period,
) -> Result<WaitResult<Operation>> {
    let limit = limit.get();
    let waiting =
        Waiting { what: format!("operation {id}"), way_back: way_back(id), interval: looking(limit), limit };
    let mut progress = ProgressPrinter::to_stderr();
    waiting.until(&client.http, &mut progress, async || look(client, id, goal).await).await
}

/// How to see later what becomes of an operation.
pub(super) fn way_back(id: Uuid) -> String {
    hint::command(&format!("operations watch {id}"))
}

/// How to look at what runs.
pub(super) fn looking(limit: Duration) -> PollInterval {
    PollInterval::new(FIRST_LOOK, SLOWEST_LOOK, Some(limit))
}

/// How to call a server that may be away, as when it is restarted.
pub(super) fn patient(limit: Duration) -> PollInterval {
    PollInterval::new(FIRST_RETRY, SLOWEST_RETRY, Some(limit))
}

/// Says once that a server is away, however many wait for it.
#[derive(Debug, Default)]
pub(super) struct Notice(Cell<bool>);

impl Notice {
    pub(super) fn updates(&self, updates: &WaitEvent<'_>) {
        if let WaitEvent::Away(error) = updates
            && !self.0.replace(true)
        {
            note(format!("{error}; trying again"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_where_nothing_more_happens_by_itself() {
        for (goal, phase, has_control, expected) in [
            (Goal::Success, Phase::Running, false, None),
            (Goal::Success, Phase::Paused, false, None),
            (Goal::Success, Phase::Succeeded, false, Some(true)),
            (Goal::Success, Phase::Undone, false, Some(false)),
            (Goal::Success, Phase::Stuck, false, Some(false)),
            (Goal::Success, Phase::Stuck, true, None),
            (Goal::Cancelled, Phase::Cancelled, false, Some(true)),
            (Goal::Cancelled, Phase::Succeeded, false, Some(false)),
            (Goal::Paused, Phase::Paused, false, Some(true)),
            (Goal::Paused, Phase::Paused, true, None),
            (Goal::Paused, Phase::Succeeded, false, Some(false)),
        ] {
            assert_eq!(goal.verdict(phase, has_control), expected, "{goal:?} {phase} {has_control}");
        }
    }
}
