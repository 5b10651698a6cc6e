//! Operations that this process cannot work on: it puts them down for others, or for a person.

use std::time::Duration;

use tracing::warn;

use super::Worker;
use crate::clock::Timestamp;
use crate::outcome::Abandon;
use crate::phase::Phase;
use crate::runner::RunExit;
use crate::store::{Ownership, Park, StoreError, Write};

/// How long an operation rests that this release does not know or cannot read whole: another node may.
const UNKNOWN_REST: Duration = Duration::from_secs(60);
/// How long it rests when a version of its workflow was declared that this process has not read yet.
const UNREAD_VERSION_REST: Duration = Duration::from_secs(1);
/// How long it rests when there is a control request for it: a node that knows the workflow may deal with that.
const UNKNOWN_REQUEST_REST: Duration = Duration::from_secs(1);

/// When an operation that this release cannot work on is looked at again.
pub(super) struct Aside {
    pub(super) due_at: Option<Timestamp>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) processed: i64,
}

impl Worker {
    /// This process does not have the plan. A version that is newer than all that it has was declared a moment ago.
    pub(super) async fn leave_to_those_who_know(
        &self,
        hold: Ownership,
        phase: Phase,
        workflow: &str,
        version: Option<u32>,
    ) -> RunExit {
        let (reason, rest) = match version {
            None => (
                format!("this release has no workflow {workflow}: a node that has it will go on"),
                UNKNOWN_REST,
            ),
            Some(version) => {
                let is_update = self.registry.is_update(workflow, version);
                let reason = format!("this node has not read version {version} of {workflow}");
                (reason, if is_update { UNREAD_VERSION_REST } else { UNKNOWN_REST })
            }
        };
        self.leave_for(hold, phase, rest, reason).await
    }

    /// A node of another release may be able to go on. This one changes nothing, so that nothing of what it cannot
    /// read gets lost.
    pub(super) async fn leave_to_others(&self, hold: Ownership, phase: Phase, reason: String) -> RunExit {
        self.leave_for(hold, phase, UNKNOWN_REST, reason).await
    }

    async fn leave_for(&self, hold: Ownership, phase: Phase, rest: Duration, reason: String) -> RunExit {
        let now = self.engine_context.clock.now();
        let phase = if phase == Phase::Running { Phase::Waiting } else { phase };
        let rest = Aside {
            due_at: Some(now.plus(rest)),
            not_before: Some(now.plus(UNKNOWN_REQUEST_REST)),
            processed: 0,
        };
        self.set_aside(hold, phase, rest, reason).await
    }

    /// Puts an operation down that this release cannot work on. One bad operation never stops the others.
    pub(super) async fn set_aside(
        &self,
        hold: Ownership,
        phase: Phase,
        rest: Aside,
        reason: String,
    ) -> RunExit {
        warn!(%reason, "operation suspended: this release cannot run it");
        let Aside { due_at, not_before, processed } = rest;
        let park = Park {
            hold,
            event: None,
            phase,
            at: self.engine_context.clock.now(),
            due_at,
            key: None,
            step: None,
            reason: Some(reason),
            memory: None,
            processed,
            not_before,
            record_update: None,
        };
        match self.engine_context.store.commit(Write::Park(Box::new(park))).await {
            Ok(_) => RunExit::Parked { due_at },
            Err(StoreError::Fenced) => RunExit::LetGo(Abandon::Fenced),
            Err(error) => RunExit::LetGo(Abandon::StoreLost(error.to_string())),
        }
    }
}
