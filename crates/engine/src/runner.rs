//! One operation from being picked up to being put down. The only caller of `run` and `undo`.

mod carry;
mod put_down;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tracing::{debug, info};

use crate::clock::Timestamp;
use crate::event::{Because, Body, Changes};
use crate::house::{House, Lease, Mailbox};
use crate::observer::StepResult;
use crate::operation::{Beside, Operation};
use crate::outcome::{Cause, Done, Halt, LetGo, Outcome};
use crate::phase::{Phase, Turn, Verb};
use crate::plan::{Plan, Planned};
use crate::step::Effect;
use crate::store::{Signal, TakenSignal, Wish};
use crate::workflow::Workflow;

/// How an operation was put down.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Parked { due_at: Option<Timestamp> },
    Finished(Phase),
    LetGo(LetGo),
}

/// An operation under way.
pub(crate) struct Course<'a, W: Workflow> {
    pub(crate) plan: &'a Plan<W>,
    pub(crate) house: &'a House,
    pub(crate) lease: &'a Lease,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) op: Operation<W>,
    pub(crate) phase: Phase,
    pub(crate) created_at: Timestamp,
    pub(crate) deadline_at: Timestamp,
    /// The number of the last control request that was dealt with, whether or not it made sense.
    pub(crate) heard: i64,
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
enum Answer {
    Given(Outcome),
    /// None came within this time.
    Missing(Duration),
}

/// Whether the walk through the steps goes on.
enum Flow {
    On,
    /// The operation changed its direction.
    Around,
    Down(Left),
}

impl<W: Workflow> Course<'_, W> {
    /// Works until the operation is finished, waits, or belongs to somebody else.
    pub(crate) async fn drive(&mut self) -> Left {
        match self.walk().await {
            Ok(left) => left,
            Err(Halt::LetGo(why)) => Left::LetGo(why),
            Err(other) => self.refused(other).await,
        }
    }

    async fn walk(&mut self) -> Result<Left, Halt> {
        if let Some(Signal { key, payload, number }) = self.signal.take() {
            let consumes = Some(TakenSignal { key: key.clone(), number });
            let beside = Beside { consumes, ..Beside::default() };
            self.op.book.append_with(|_| Body::Signalled { key, payload }, beside).await?;
        }
        if let Flow::Down(left) = self.hear().await? {
            return Ok(left);
        }
        if let Some(phase) = self.op.book.memory.finished {
            return self.move_to_archive(phase).await;
        }
        if self.op.book.memory.paused {
            return self.hold_still(Phase::Paused).await;
        }
        if self.op.book.memory.stuck.is_some() {
            return self.hold_still(Phase::Stuck).await;
        }
        if self.orphaned
            && let Some(step) = self.unclear()
        {
            return self.unknown_outcome(&step).await;
        }
        loop {
            let flow =
                if self.op.book.memory.goes_back() { self.unwind().await? } else { self.pass().await? };
            if let Flow::Down(left) = flow {
                return Ok(left);
            }
        }
    }

    /// One walk through the steps from the lowest weight.
    async fn pass(&mut self) -> Result<Flow, Halt> {
        let plan = self.plan;
        self.op.begin_pass();
        for planned in &plan.steps {
            match self.interrupted().await? {
                Flow::On => {}
                other => return Ok(other),
            }
            if !planned.applies(&self.op) {
                continue;
            }
            self.announce(planned).await?;
            let answer = self.call(planned, false).await;
            match self.carry_out(planned, answer).await? {
                Flow::On => {}
                other => return Ok(other),
            }
        }
        self.complete().await.map(Flow::Down)
    }

    /// Undo in reverse order for every step that ever started.
    async fn unwind(&mut self) -> Result<Flow, Halt> {
        let plan = self.plan;
        self.op.book.announced.clear();
        for planned in plan.steps.iter().rev() {
            let name = planned.step.name();
            let memory = &self.op.book.memory;
            if !memory.started.contains(name)
                || memory.undone.contains(name)
                || planned.step.effect() == Effect::Pure
            {
                continue;
            }
            match self.interrupted().await? {
                Flow::On => {}
                other => return Ok(other),
            }
            self.flush().await?;
            let answer = self.call(planned, true).await;
            match self.carry_back(planned, answer).await? {
                Flow::On => {}
                other => return Ok(other),
            }
        }
        let turned = self.op.book.memory.turned.clone();
        let turn = match turned.as_ref().map(|turned| turned.because) {
            Some(Because::Cancelled) => Turn::UndoneAfterCancel,
            _ => Turn::UndoneAfterFailure,
        };
        self.finish(turn, None, turned.map(|turned| turned.cause)).await.map(Flow::Down)
    }

    /// Looks up between two steps: wishes, a stop of the process, the deadline.
    async fn interrupted(&mut self) -> Result<Flow, Halt> {
        match self.hear().await? {
            Flow::On => {}
            other => return Ok(other),
        }
        if self.lease.is_lost() {
            return Err(Halt::LetGo(LetGo::Fenced));
        }
        let now = self.house.clock.now();
        if self.house.is_stopping() {
            return self.put_down_for_others(now).await.map(Flow::Down);
        }
        if now >= self.deadline_at && self.has_deadline() {
            let allowed = self.deadline_at.since(self.created_at);
            let waited = self.op.book.memory.wait.clone();
            let (step, what) = match waited {
                Some(wait) => (Some(wait.step), format!(" while it waited: {}", wait.reason)),
                None => (None, String::new()),
            };
            let cause = format!("the deadline of {allowed:?} passed{what}");
            return self.turn_back(Because::Failed, step, cause.into()).await;
        }
        Ok(Flow::On)
    }

    /// Deals with what an operator or a door asked for.
    async fn hear(&mut self) -> Result<Flow, Halt> {
        let Some(wish) = self.mailbox.take().filter(|wish| wish.number > self.heard) else {
            return Ok(Flow::On);
        };
        self.heard = wish.number;
        let goes_back = self.op.book.memory.goes_back();
        // Who cancels what is being undone already only wants it to get on.
        let verb = if wish.verb == Verb::Cancel && goes_back { Verb::Resume } else { wish.verb };
        info!(verb = %wish.verb, by = %wish.by, "an operator asked");
        if verb != Verb::Pause {
            let turn = if goes_back { Turn::ResumedUndo } else { Turn::ResumedForward };
            self.phase = self.phase.after(turn).unwrap_or(self.phase);
        }
        self.flush().await?;
        let Wish { by, reason, at, .. } = wish;
        let cause = cancelled_by(&by, &reason);
        let beside = Beside { phase: Some(self.phase), heard: Some(self.heard), consumes: None };
        self.op.book.append_with(|_| Body::Asked { verb, by, reason, at }, beside).await?;
        match verb {
            Verb::Pause => self.hold_still(Phase::Paused).await.map(Flow::Down),
            Verb::Cancel => self.turn_back(Because::Cancelled, None, cause).await,
            Verb::Resume | Verb::Retry => {
                self.restore();
                Ok(Flow::Around)
            }
        }
    }

    /// After a new round began the state is empty again.
    fn restore(&mut self) {
        self.op.restore_state();
        self.op.book.pending = Changes::default();
    }

    /// Saves what steps learned where the next event has no place for it.
    async fn flush(&mut self) -> Result<(), Halt> {
        if self.op.book.pending.is_empty() {
            return Ok(());
        }
        self.op.book.append(|changes| Body::Stepped { changes, started: None }).await
    }

    /// Makes it durable that a step starts, before it can leave anything in the world. The same event says
    /// what the steps before it learned, so that this costs nothing where they learned something.
    async fn announce(&mut self, planned: &Planned<W>) -> Result<(), Halt> {
        let (name, effect) = (planned.step.name(), planned.step.effect());
        let memory = &self.op.book.memory;
        let needed = match effect {
            Effect::Pure => false,
            Effect::Keyed => !memory.started.contains(name) || !self.op.book.pending.is_empty(),
            Effect::Once => memory.open.as_deref() != Some(name) || !self.op.book.pending.is_empty(),
        };
        if needed {
            let started = Some(name.to_owned());
            self.op.book.append(|changes| Body::Stepped { changes, started }).await?;
        }
        Ok(())
    }

    /// Runs or undoes one step within its limits.
    async fn call(&mut self, planned: &Planned<W>, undo: bool) -> Answer {
        let step = planned.step.as_ref();
        let _place = match (step.gate(), step.driver()) {
            (Some(gate), _) => gate.acquire_owned().await.ok(),
            (None, Some(driver)) => self.house.limits.enter(driver).await,
            (None, None) => None,
        };
        let began = self.house.clock.now();
        if !self.lease.allows_effects(self.house.moment()) {
            let why = LetGo::StoreLost("the lease could not be renewed in time".into());
            return Answer::Given(Err(Halt::LetGo(why)));
        }
        let limit = step.limit().unwrap_or(self.house.settings.step_limit);
        let op = &mut self.op;
        let work = AssertUnwindSafe(async { if undo { step.undo(op).await } else { step.run(op).await } });
        let answer = tokio::select! {
            biased;
            outcome = work.catch_unwind() => {
                Answer::Given(outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))))
            }
            () = self.house.clock.sleep(limit) => Answer::Missing(limit),
        };
        self.op.collect();
        let took = self.house.clock.now().since(began);
        self.house.observer.step_ran(self.plan.kind(), step.name(), answer.result(), took);
        debug!(step = step.name(), undo, outcome = answer.result().as_str(), "step ran");
        answer
    }
}

impl Answer {
    fn outcome(self) -> Outcome {
        match self {
            Answer::Given(outcome) => outcome,
            Answer::Missing(limit) => {
                Err(Halt::Retry { after: None, cause: format!("no answer within {limit:?}").into() })
            }
        }
    }

    fn result(&self) -> StepResult {
        match self {
            Answer::Given(Ok(Done::Complete)) => StepResult::Done,
            Answer::Given(Ok(Done::Skipped { .. } | Done::Unneeded { .. })) => StepResult::Skipped,
            Answer::Given(Err(Halt::Wait { .. })) => StepResult::Waited,
            Answer::Given(Err(Halt::Retry { .. } | Halt::LetGo(_))) | Answer::Missing(_) => {
                StepResult::Retried
            }
            Answer::Given(Err(Halt::Fail { .. } | Halt::Unknown { .. })) => StepResult::Failed,
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
