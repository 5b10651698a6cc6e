//! Putting an operation down: to wait, to be finished, or for a person to look at.

use std::time::Duration;

use tracing::warn;

use super::{Execution, RunExit};
use crate::budget::Budget;
use crate::clock::Timestamp;
use crate::event::{Body, Changes, Event};
use crate::memory::Wait;
use crate::outcome::{Abandon, Cause, Halt};
use crate::phase::{Phase, Turn};
use crate::step::Effect;
use crate::store::{Finish, Park, Write};
use crate::workflow::{Settled, Workflow};

impl<W: Workflow> Execution<'_, W> {
    pub(super) async fn sleep(&mut self, wait: Wait, delay: Duration) -> Result<RunExit, Halt> {
        let until = self.wake_at(delay);
        let journal = &mut self.op.journal;
        let budget_is_whole = journal.memory.budget(&wait.step, journal.memory.goes_back()).attempts == 0;
        let said_before = journal.memory.wait.as_ref() == Some(&wait) && budget_is_whole;
        let event = if said_before && journal.pending.is_empty() {
            None
        } else {
            let Wait { step, reason, key } = wait.clone();
            Some(journal.next(|changes| Body::Waited { step, reason, key, until, changes }))
        };
        self.turn(Turn::Waited);
        self.park(event, Some(until), Some((wait.step, wait.reason)), wait.key).await
    }

    pub(super) async fn try_again(
        &mut self,
        (step, undo): (&str, bool),
        delay: Duration,
        spent: Budget,
        cause: Cause,
    ) -> Result<RunExit, Halt> {
        let until = self.wake_at(delay);
        let reason = format!("attempt {} failed: {cause}", spent.attempts);
        let event = self.op.journal.next(|changes| Body::Retried {
            step: step.to_owned(),
            cause,
            attempt: spent.attempts,
            spent_ms: spent.spent_ms,
            until,
            undo,
            changes,
        });
        self.turn(Turn::Waited);
        self.park(Some(event), Some(until), Some((step.to_owned(), reason)), None).await
    }

    pub(super) async fn get_stuck(
        &mut self,
        step: &str,
        cause: Cause,
        left_over: Vec<String>,
    ) -> Result<RunExit, Halt> {
        warn!(step, %cause, ?left_over, "operation is stuck and needs an operator");
        let reason = cause.to_string();
        let rest = Settled {
            phase: Phase::Stuck,
            step: Some(step),
            cause: Some(&cause),
            at: self.engine_context.clock.now(),
        };
        if let Some(on_settled) = self.op.resource.clone().zip(W::on_settled(&self.op, &rest)) {
            self.op.journal.record_update = Some(on_settled);
        }
        let step = step.to_owned();
        let named = Some((step.clone(), reason));
        let event = self.op.journal.next(|changes| Body::Stuck { step, cause, left_over, changes });
        self.turn(Turn::NeedsOperator);
        self.park(Some(event), None, named, None).await
    }

    /// A step that must not run twice was under way when its node died.
    pub(super) async fn unknown_outcome(&mut self, step: &str) -> Result<RunExit, Halt> {
        let cause = format!(
            "it is unknown whether {step} happened: look at the external system, then retry or cancel"
        );
        self.get_stuck(step, cause.into(), vec![step.to_owned()]).await
    }

    pub(super) fn unclear(&self) -> Option<String> {
        let open = self.op.journal.memory.open.as_deref()?;
        let planned = self.plan.steps.iter().find(|planned| planned.step.name() == open)?;
        (planned.step.effect() == Effect::Once).then(|| open.to_owned())
    }

    /// The steps whose work may still be in the world.
    pub(super) fn left_over(&self) -> Vec<String> {
        let journal = &self.op.journal;
        let is_left = |name: &str| {
            journal.memory.started.contains(name)
                && !journal.memory.undone.contains(name)
                && !journal.pending.undone.iter().any(|undone| undone == name)
        };
        let effects = self.plan.steps.iter().filter(|planned| planned.step.effect() != Effect::Pure);
        effects.map(|planned| planned.step.name()).filter(|name| is_left(name)).map(str::to_owned).collect()
    }

    pub(super) async fn hold_still(&mut self, phase: Phase) -> Result<RunExit, Halt> {
        let reason =
            self.op.journal.memory.stuck.as_ref().map(|stuck| (stuck.step.clone(), stuck.cause.to_string()));
        self.phase = phase;
        self.park(None, None, reason, None).await
    }

    /// The process stops: any node may claim the operation at once.
    pub(super) async fn suspend_for_others(&mut self, now: Timestamp) -> Result<RunExit, Halt> {
        let event = (!self.op.journal.pending.is_empty())
            .then(|| self.op.journal.next(|changes| Body::Stepped { changes, started: None }));
        self.turn(Turn::Waited);
        self.park(event, Some(now), Some((String::new(), "its node is stopping".into())), None).await
    }

    pub(super) async fn park(
        &mut self,
        event: Option<Event>,
        due_at: Option<Timestamp>,
        named: Option<(String, String)>,
        key: Option<String>,
    ) -> Result<RunExit, Halt> {
        if let Some(event) = &event {
            self.op.journal.memory.apply(event.clone());
        }
        let seq = event.as_ref().map_or(self.op.journal.seq, |event| event.seq);
        let memory = (seq > self.row_seq).then(|| (self.op.journal.memory.to_text(), seq));
        let due_at = due_at.map(|due_at| self.not_before.map_or(due_at, |not_before| due_at.max(not_before)));
        let (step, reason) = named.unzip();
        let park = Park {
            hold: self.op.journal.hold,
            phase: self.phase,
            at: self.engine_context.clock.now(),
            due_at,
            key,
            step: step.filter(|step| !step.is_empty()),
            reason,
            memory,
            processed: self.processed,
            not_before: self.not_before,
            event,
            record_update: self.op.journal.record_update.take(),
        };
        self.op.journal.commit(Write::Park(Box::new(park))).await?;
        self.op.journal.event_feed.tell(self.op.id, seq);
        Ok(RunExit::Parked { due_at })
    }

    pub(super) async fn finish(
        &mut self,
        turn: Turn,
        step: Option<String>,
        cause: Option<Cause>,
    ) -> Result<RunExit, Halt> {
        let phase = self.turn(turn);
        let said = cause.clone();
        let event = self.op.journal.next(|changes| Body::Finished { phase, step, cause: said, changes });
        let (seq, at) = (event.seq, event.at);
        let finish = self.over(phase, at, cause, Some(event));
        self.op.journal.commit(Write::Finish(Box::new(finish))).await?;
        self.op.journal.event_feed.tell(self.op.id, seq);
        self.engine_context.observer.finished(self.plan.kind(), phase, at.since(self.created_at));
        Ok(RunExit::Finished(phase))
    }

    /// The journal says that it is over; only the row was still there.
    pub(super) async fn move_to_archive(&mut self, phase: Phase) -> Result<RunExit, Halt> {
        let cause = self.op.journal.memory.undo_reason.as_ref().map(|undo_reason| undo_reason.cause.clone());
        let finish = self.over(phase, self.engine_context.clock.now(), cause, None);
        self.op.journal.commit(Write::Finish(Box::new(finish))).await?;
        Ok(RunExit::Finished(phase))
    }

    /// A finished operation is looked at rarely and never runs: its journal is memory enough.
    fn over(&mut self, phase: Phase, at: Timestamp, cause: Option<Cause>, event: Option<Event>) -> Finish {
        let undo_reason = self.op.journal.memory.undo_reason.as_ref();
        let finished = event.as_ref().and_then(|event| match &event.body {
            Body::Finished { step, .. } => step.as_deref(),
            _ => None,
        });
        let step = finished.or_else(|| undo_reason.and_then(|undo_reason| undo_reason.step.as_deref()));
        let rest = Settled { phase, step, cause: cause.as_ref(), at };
        let settles = self.op.resource.clone();
        let on_settled = settles.clone().zip(W::on_settled(&self.op, &rest));
        let cause = cause.map(|cause| cause.to_string());
        let record_update = on_settled.or_else(|| self.op.journal.record_update.take());
        let hold = self.op.journal.hold;
        Finish { hold, event, phase, cause, at, memory: "{}".into(), seq: 0, settles, record_update }
    }

    /// The store would not take what we wrote, and never will: a person must look.
    pub(super) async fn refused(&mut self, halt: Halt) -> RunExit {
        let (Halt::Fail { cause } | Halt::Unknown { cause }) = halt else {
            return RunExit::LetGo(Abandon::StoreLost(format!("{halt:?}")));
        };
        self.op.journal.pending = Changes::default();
        match self.get_stuck("engine", cause, self.left_over()).await {
            Ok(left) => left,
            Err(Halt::LetGo(why)) => RunExit::LetGo(why),
            Err(other) => RunExit::LetGo(Abandon::StoreLost(format!("{other:?}"))),
        }
    }

    fn wake_at(&self, delay: Duration) -> Timestamp {
        let until = self.engine_context.clock.now().plus(delay);
        if self.has_deadline() { until.min(self.deadline_at) } else { until }
    }

    /// The deadline ends the way forward. The way back takes as long as it takes, and so do clean-ups that are
    /// started again: giving those up would leave something behind.
    pub(super) fn has_deadline(&self) -> bool {
        let memory = &self.op.journal.memory;
        !memory.goes_back() && !memory.past_the_end
    }

    pub(super) fn turn(&mut self, turn: Turn) -> Phase {
        self.phase = self.phase.after(turn).expect("the runner makes only legal turns");
        self.phase
    }
}
