//! One operation from being picked up to being put down. The only caller of `run` and `undo`.

mod apply;
mod suspend;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tracing::{debug, info};

use crate::clock::Timestamp;
use crate::engine_context::{ControlInbox, EngineContext, Lease};
use crate::event::{Because, Body, Changes};
use crate::observer::StepResult;
use crate::operation::{AppendExtras, Operation};
use crate::outcome::{Abandon, Cause, Done, Halt, Outcome};
use crate::phase::{Phase, PhaseVerb, Turn};
use crate::plan::{Plan, Planned};
use crate::step::Effect;
use crate::store::{ControlRequest, Signal, TakenSignal};
use crate::workflow::Workflow;

/// How an operation was put down.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunExit {
    Parked { due_at: Option<Timestamp> },
    Finished(Phase),
    LetGo(Abandon),
}

/// An operation under way.
pub(crate) struct Execution<'a, W: Workflow> {
    pub(crate) plan: &'a Plan<W>,
    pub(crate) engine_context: &'a EngineContext,
    pub(crate) lease: &'a Lease,
    pub(crate) inbox: Arc<ControlInbox>,
    pub(crate) op: Operation<W>,
    pub(crate) phase: Phase,
    pub(crate) created_at: Timestamp,
    pub(crate) deadline_at: Timestamp,
    /// The number of the last control request that was dealt with, whether or not it made sense.
    pub(crate) processed: i64,
    /// No other claim of this operation may come earlier, whatever happens.
    pub(crate) not_before: Option<Timestamp>,
    /// The last event that the memory in the row knows.
    pub(crate) row_seq: u32,
    /// What the outside said while the operation waited for it.
    pub(crate) signal: Option<Signal>,
    /// The owner before died: a call may have happened that was not recorded.
    pub(crate) orphaned: bool,
}

/// What came of calling a step.
enum StepAnswer {
    Given(Outcome),
    /// None came within this time.
    Missing(Duration),
}

/// Whether the walk through the steps goes on.
enum PassFlow {
    On,
    /// The operation changed its direction.
    Around,
    Down(RunExit),
}

impl<W: Workflow> Execution<'_, W> {
    /// Works until the operation is finished, waits, or belongs to another node.
    pub(crate) async fn run_to_exit(&mut self) -> RunExit {
        match self.walk().await {
            Ok(left) => left,
            Err(Halt::LetGo(why)) => RunExit::LetGo(why),
            Err(other) => self.refused(other).await,
        }
    }

    async fn walk(&mut self) -> Result<RunExit, Halt> {
        if let Some(Signal { key, payload, number }) = self.signal.take() {
            let consumes = Some(TakenSignal { key: key.clone(), number });
            let beside = AppendExtras { consumes, ..AppendExtras::default() };
            self.op.journal.append_with(|_| Body::Signalled { key, payload }, beside).await?;
        }
        if let PassFlow::Down(left) = self.hear().await? {
            return Ok(left);
        }
        if let Some(phase) = self.op.journal.memory.finished {
            return self.move_to_archive(phase).await;
        }
        if self.op.journal.memory.paused {
            return self.hold_still(Phase::Paused).await;
        }
        if self.op.journal.memory.stuck.is_some() {
            return self.hold_still(Phase::Stuck).await;
        }
        if self.orphaned
            && let Some(step) = self.unclear()
        {
            return self.unknown_outcome(&step).await;
        }
        loop {
            let flow =
                if self.op.journal.memory.goes_back() { self.unwind().await? } else { self.pass().await? };
            if let PassFlow::Down(left) = flow {
                return Ok(left);
            }
        }
    }

    /// One walk through the steps from the lowest weight.
    async fn pass(&mut self) -> Result<PassFlow, Halt> {
        let plan = self.plan;
        self.op.begin_pass();
        for planned in &plan.steps {
            match self.interrupted().await? {
                PassFlow::On => {}
                other => return Ok(other),
            }
            if !planned.applies(&self.op) {
                continue;
            }
            self.announce(planned).await?;
            let answer = self.call(planned, false).await;
            match self.carry_out(planned, answer).await? {
                PassFlow::On => {}
                other => return Ok(other),
            }
        }
        self.complete().await.map(PassFlow::Down)
    }

    /// Undo in reverse order for every step that ever started.
    async fn unwind(&mut self) -> Result<PassFlow, Halt> {
        let plan = self.plan;
        self.op.journal.announced.clear();
        for planned in plan.steps.iter().rev() {
            let name = planned.step.name();
            let memory = &self.op.journal.memory;
            if !memory.started.contains(name)
                || memory.undone.contains(name)
                || planned.step.effect() == Effect::Pure
            {
                continue;
            }
            match self.interrupted().await? {
                PassFlow::On => {}
                other => return Ok(other),
            }
            self.flush().await?;
            let answer = self.call(planned, true).await;
            match self.apply_undo(planned, answer).await? {
                PassFlow::On => {}
                other => return Ok(other),
            }
        }
        let undo_reason = self.op.journal.memory.undo_reason.clone();
        let turn = match undo_reason.as_ref().map(|undo_reason| undo_reason.because) {
            Some(Because::Cancelled) => Turn::UndoneAfterCancel,
            _ => Turn::UndoneAfterFailure,
        };
        self.finish(turn, None, undo_reason.map(|undo_reason| undo_reason.cause)).await.map(PassFlow::Down)
    }

    /// Looks up between two steps: control requests, a stop of the process, the deadline.
    async fn interrupted(&mut self) -> Result<PassFlow, Halt> {
        match self.hear().await? {
            PassFlow::On => {}
            other => return Ok(other),
        }
        if self.lease.is_lost() {
            return Err(Halt::LetGo(Abandon::Fenced));
        }
        let now = self.engine_context.clock.now();
        if self.engine_context.is_stopping() {
            return self.suspend_for_others(now).await.map(PassFlow::Down);
        }
        if now >= self.deadline_at && self.has_deadline() {
            let allowed = self.deadline_at.since(self.created_at);
            let waited = self.op.journal.memory.wait.clone();
            let (step, what) = match waited {
                Some(wait) => (Some(wait.step), format!(" while it waited: {}", wait.reason)),
                None => (None, String::new()),
            };
            let cause = format!("the deadline of {allowed:?} passed{what}");
            return self.turn_back(Because::Failed, step, cause.into()).await;
        }
        Ok(PassFlow::On)
    }

    /// Deals with what an operator or an API asked for.
    async fn hear(&mut self) -> Result<PassFlow, Halt> {
        let Some(control) = self.inbox.take().filter(|control| control.number > self.processed) else {
            return Ok(PassFlow::On);
        };
        self.processed = control.number;
        let goes_back = self.op.journal.memory.goes_back();
        // To cancel an operation that is being undone only resumes it.
        let verb =
            if control.verb == PhaseVerb::Cancel && goes_back { PhaseVerb::Resume } else { control.verb };
        info!(verb = %control.verb, by = %control.by, "control request taken");
        if verb != PhaseVerb::Pause {
            let turn = if goes_back { Turn::ResumedUndo } else { Turn::ResumedForward };
            self.phase = self.phase.after(turn).unwrap_or(self.phase);
        }
        self.flush().await?;
        let ControlRequest { by, reason, at, .. } = control;
        let cause = cancelled_by(&by, &reason);
        let beside =
            AppendExtras { phase: Some(self.phase), processed: Some(self.processed), consumes: None };
        self.op.journal.append_with(|_| Body::Asked { verb, by, reason, at }, beside).await?;
        match verb {
            PhaseVerb::Pause => self.hold_still(Phase::Paused).await.map(PassFlow::Down),
            PhaseVerb::Cancel => self.turn_back(Because::Cancelled, None, cause).await,
            PhaseVerb::Resume | PhaseVerb::Retry => {
                self.restore();
                Ok(PassFlow::Around)
            }
        }
    }

    /// After a new round began the state is empty again.
    fn restore(&mut self) {
        self.op.restore_state();
        self.op.journal.pending = Changes::default();
    }

    /// Saves what steps learned where the next event has no place for it.
    async fn flush(&mut self) -> Result<(), Halt> {
        if self.op.journal.pending.is_empty() {
            return Ok(());
        }
        self.op.journal.append(|changes| Body::Stepped { changes, started: None }).await
    }

    /// Makes it durable that a step starts, before it can leave anything in the world. The same event says
    /// what the steps before it learned, so that this costs nothing where they learned something.
    async fn announce(&mut self, planned: &Planned<W>) -> Result<(), Halt> {
        let (name, effect) = (planned.step.name(), planned.step.effect());
        let memory = &self.op.journal.memory;
        let needed = match effect {
            Effect::Pure => false,
            Effect::Keyed => !memory.started.contains(name) || !self.op.journal.pending.is_empty(),
            Effect::Once => memory.open.as_deref() != Some(name) || !self.op.journal.pending.is_empty(),
        };
        if needed {
            let started = Some(name.to_owned());
            self.op.journal.append(|changes| Body::Stepped { changes, started }).await?;
        }
        Ok(())
    }

    /// Runs or undoes one step within its limits.
    async fn call(&mut self, planned: &Planned<W>, undo: bool) -> StepAnswer {
        let step = planned.step.as_ref();
        let _place = match (step.gate(), step.driver()) {
            (Some(gate), _) => gate.acquire_owned().await.ok(),
            (None, Some(driver)) => self.engine_context.limits.enter(driver).await,
            (None, None) => None,
        };
        let began = self.engine_context.clock.now();
        if !self.lease.allows_effects(self.engine_context.moment()) {
            let why = Abandon::StoreLost("the lease could not be renewed in time".into());
            return StepAnswer::Given(Err(Halt::LetGo(why)));
        }
        let limit = step.limit().unwrap_or(self.engine_context.settings.step_limit);
        let op = &mut self.op;
        let work = AssertUnwindSafe(async { if undo { step.undo(op).await } else { step.run(op).await } });
        let answer = tokio::select! {
            biased;
            outcome = work.catch_unwind() => {
                StepAnswer::Given(outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))))
            }
            () = self.engine_context.clock.sleep(limit) => StepAnswer::Missing(limit),
        };
        self.op.collect();
        let took = self.engine_context.clock.now().since(began);
        self.engine_context.observer.step_ran(self.plan.kind(), step.name(), answer.result(), took);
        debug!(step = step.name(), undo, outcome = answer.result().as_str(), "step ran");
        answer
    }
}

impl StepAnswer {
    fn outcome(self) -> Outcome {
        match self {
            StepAnswer::Given(outcome) => outcome,
            StepAnswer::Missing(limit) => {
                Err(Halt::Retry { after: None, cause: format!("no answer within {limit:?}").into() })
            }
        }
    }

    fn result(&self) -> StepResult {
        match self {
            StepAnswer::Given(Ok(Done::Complete)) => StepResult::Done,
            StepAnswer::Given(Ok(Done::Skipped { .. } | Done::Unneeded { .. })) => StepResult::Skipped,
            StepAnswer::Given(Err(Halt::Wait { .. })) => StepResult::Waited,
            StepAnswer::Given(Err(Halt::Retry { .. } | Halt::LetGo(_))) | StepAnswer::Missing(_) => {
                StepResult::Retried
            }
            StepAnswer::Given(Err(Halt::Fail { .. } | Halt::Unknown { .. })) => StepResult::Failed,
        }
    }
}

fn cancelled_by(by: &str, reason: &str) -> Cause {
    if reason.is_empty() { format!("cancelled by {by}") } else { format!("cancelled by {by}: {reason}") }
        .into()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Halt {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Halt::fail(format!("the step panicked: {text}"))
}
