//! Waiting until an operation has come where it should.

use std::cell::Cell;
use std::time::Duration;

use anyhow::Result;
use api::client::{CallError, Look, News, Pace, Waited};
use api::types::{Operation, Phase, Verb};
use clap::Args;
use uuid::Uuid;

use crate::client::PlatformClient;
use crate::config::Period;
use crate::exit::{Exit, TimedOut};
use crate::output::note;

const FIRST_LOOK: Duration = Duration::from_millis(20);
const SLOWEST_LOOK: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const SLOWEST_RETRY: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Wait until it is done; exit code 3 when it ends badly
    #[arg(long)]
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
    pub(super) fn verdict(self, phase: Phase, has_wish: bool) -> Option<bool> {
        match (self, phase) {
            (Goal::Success, Phase::Succeeded) | (Goal::Cancelled, Phase::Cancelled) => Some(true),
            (Goal::Paused, Phase::Paused) if !has_wish => Some(true),
            // Somebody just asked it to go on, so it will not stay stuck.
            (_, Phase::Stuck) if has_wish => None,
            (_, phase) if phase.is_final() || phase == Phase::Stuck => Some(false),
            _ => None,
        }
    }

    pub(super) fn exit(self, phase: Phase) -> Exit {
        if self.verdict(phase, false) == Some(true) { Exit::GOOD } else { Exit::OPERATION_FAILED }
    }
}

/// Looks again and again, first often and then less so.
pub(super) async fn wait(
    client: &PlatformClient,
    id: Uuid,
    goal: Goal,
    pace: Pace,
    notice: &Notice,
) -> Result<Waited<Operation>, CallError> {
    let look = async || {
        let operation = client.show(id).await?.operation;
        let is_over = goal.verdict(operation.phase, operation.asked.is_some()).is_some();
        let phase = operation.phase.as_str();
        Ok(if is_over { Look::over(operation) } else { Look::going(operation, phase) })
    };
    client.http.wait_until(pace, look, |news| notice.news(&news)).await
}

/// Waits for one operation and makes an error of a wait that was too short.
pub(super) async fn wait_or_fail(
    client: &PlatformClient,
    id: Uuid,
    goal: Goal,
    limit: Period,
) -> Result<Operation> {
    match wait(client, id, goal, looking(limit.get()), &Notice::default()).await? {
        Waited::Over(operation) => Ok(operation),
        Waited::Going(_, phase) => Err(TimedOut(format!(
            "operation {id} is still {phase} after {limit} and goes on: \
             provision-engine operations watch {id}"
        ))
        .into()),
        Waited::Unknown(error) => {
            Err(TimedOut(format!("nobody knows how operation {id} stands after {limit}: {error}")).into())
        }
    }
}

/// How to look at what runs.
pub(super) fn looking(limit: Duration) -> Pace {
    Pace::new(FIRST_LOOK, SLOWEST_LOOK, Some(limit))
}

/// How to call a server that may be away, as when it is restarted.
pub(super) fn patient(limit: Duration) -> Pace {
    Pace::new(FIRST_RETRY, SLOWEST_RETRY, Some(limit))
}

/// Says once that a server is away, however many wait for it.
#[derive(Debug, Default)]
pub(super) struct Notice(Cell<bool>);

impl Notice {
    pub(super) fn news(&self, news: &News<'_>) {
        if let News::Away(error) = news
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
        for (goal, phase, has_wish, expected) in [
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
            assert_eq!(goal.verdict(phase, has_wish), expected, "{goal:?} {phase} {has_wish}");
        }
    }
}
