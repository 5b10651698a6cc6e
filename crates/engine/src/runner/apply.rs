//! What an outcome means for the operation, carried out.

use tracing::{info, warn};

use super::{Execution, PassFlow, RunExit, StepAnswer};
use crate::event::{Because, Body};
use crate::memory::{RETRIGGER, Wait};
use crate::operation::AppendExtras;
use crate::outcome::{Cause, Halt};
use crate::phase::{Phase, Turn};
use crate::plan::{OnFailure, Planned};
use crate::step::Effect;
use crate::verdict::{StepStanding, Verdict, decide};
use crate::workflow::Workflow;

impl<W: Workflow> Execution<'_, W> {
    /// What an outcome means on the way forward.
    pub(super) async fn carry_out(
        &mut self,
        planned: &Planned<W>,
        answer: StepAnswer,
    ) -> Result<PassFlow, Halt> {
        let name = planned.step.name();
        if planned.step.effect() == Effect::Once && matches!(answer, StepAnswer::Missing(_)) {
            return self.unknown_outcome(name).await.map(PassFlow::Down);
        }
        match decide(answer.outcome(), self.standing(planned, false)) {
            Verdict::Next => {
                self.note_done(name);
                Ok(PassFlow::On)
            }
            Verdict::Unneeded(reason) => {
                if self.note_done(name) {
                    self.op.journal.pending.skipped.insert(name.to_owned(), reason);
                }
                Ok(PassFlow::On)
            }
            Verdict::Skip(cause) => {
                warn!(step = name, %cause, "step skipped");
                if self.op.journal.memory.skipped.get(name) != Some(&cause) {
                    self.op.journal.pending.skipped.insert(name.to_owned(), cause);
                }
                Ok(PassFlow::On)
            }
            Verdict::Sleep { delay, reason, key } => {
                self.sleep(Wait { step: name.to_owned(), reason, key }, delay).await.map(PassFlow::Down)
            }
            Verdict::TryAgain { delay, spent, cause } => {
                warn!(step = name, attempt = spent.attempts, ?delay, %cause, "step will be tried again");
                self.try_again((name, false), delay, spent, cause).await.map(PassFlow::Down)
            }
            Verdict::GiveUp(cause) => self.turn_back(Because::Failed, Some(name.to_owned()), cause).await,
            Verdict::AskPerson(cause) => {
                self.get_stuck(name, cause, vec![name.to_owned()]).await.map(PassFlow::Down)
            }
            Verdict::LetGo(why) => Err(Halt::LetGo(why)),
        }
    }

    /// What an outcome means on the way back.
    pub(super) async fn apply_undo(
        &mut self,
        planned: &Planned<W>,
        answer: StepAnswer,
    ) -> Result<PassFlow, Halt> {
        let name = planned.step.name();
        match decide(answer.outcome(), self.standing(planned, true)) {
            Verdict::Next | Verdict::Unneeded(_) => {
                self.op.journal.pending.undone.push(name.to_owned());
                Ok(PassFlow::On)
            }
            Verdict::Sleep { delay, reason, key } => {
                self.sleep(Wait { step: name.to_owned(), reason, key }, delay).await.map(PassFlow::Down)
            }
            Verdict::TryAgain { delay, spent, cause } => {
                warn!(step = name, attempt = spent.attempts, ?delay, %cause, "undo will be tried again");
                self.try_again((name, true), delay, spent, cause).await.map(PassFlow::Down)
            }
            Verdict::Skip(cause) | Verdict::GiveUp(cause) | Verdict::AskPerson(cause) => {
                let left_over = self.left_over();
                self.get_stuck(name, cause, left_over).await.map(PassFlow::Down)
            }
            Verdict::LetGo(why) => Err(Halt::LetGo(why)),
        }
    }

    fn standing(&self, planned: &Planned<W>, undo: bool) -> StepStanding {
        StepStanding {
            policy: planned.policy(self.engine_context.settings.retries),
            spent: self.op.journal.memory.budget(planned.step.name(), undo),
            is_clean_up: planned.is_clean_up && !undo,
            chance: self.engine_context.clock.chance(),
        }
    }

    /// A step that was done before and had nothing to say costs nothing: `false`.
    fn note_done(&mut self, name: &str) -> bool {
        let memory = &self.op.journal.memory;
        let is_update = !memory.done.contains(name)
            || memory.skipped.contains_key(name)
            || memory.budgets.contains_key(name)
            || memory.wait.as_ref().is_some_and(|wait| wait.step == name);
        if is_update {
            self.op.journal.pending.done.push(name.to_owned());
        }
        is_update
    }

    /// The end of the table: success, unless clean-up steps were skipped.
    pub(super) async fn complete(&mut self) -> Result<RunExit, Halt> {
        let journal = &self.op.journal;
        let all = journal.memory.skipped.keys().chain(journal.pending.skipped.keys());
        let mut skipped: Vec<String> =
            all.filter(|step| !journal.pending.done.contains(step)).cloned().collect();
        skipped.sort();
        skipped.dedup();
        let Some(first) = skipped.first().cloned() else {
            return self.finish(Turn::StepsDone, None, None).await;
        };
        let reason = format!("not completed yet: {}", skipped.join(", "));
        if journal.memory.retriggers < self.plan.retrigger.times {
            let wait = Wait { step: RETRIGGER.into(), reason, key: None };
            // A wait under the engine's own name is always news: its event counts the starts.
            self.op.journal.memory.wait = None;
            self.op.journal.memory.past_the_end = true;
            return self.sleep(wait, self.plan.retrigger.every).await;
        }
        self.get_stuck(&first, reason.into(), skipped).await
    }

    pub(super) async fn turn_back(
        &mut self,
        because: Because,
        step: Option<String>,
        cause: Cause,
    ) -> Result<PassFlow, Halt> {
        info!(step = step.as_deref(), %cause, ?because, "operation is being undone");
        if self.plan.on_failure == OnFailure::Leave {
            let turn = match because {
                Because::Failed => Turn::FailedLeave,
                Because::Cancelled => Turn::CancelledLeave,
            };
            return self.finish(turn, step, Some(cause)).await.map(PassFlow::Down);
        }
        self.turn(match because {
            Because::Failed => Turn::FailedUndo,
            Because::Cancelled => Turn::CancelledUndo,
        });
        let body = |changes| Body::Turned { step, because, cause, changes };
        let beside = AppendExtras { phase: Some(Phase::Undoing), ..AppendExtras::default() };
        self.op.journal.append_with(body, beside).await?;
        Ok(PassFlow::Around)
    }
}
