//! Explains the status of an operation. Pure: its inputs are arguments.

use engine::store::Summary;
use engine::{Because, Inspection, Memory, OperationId, Phase, PhaseVerb, Timestamp, WorkflowInfo};

use super::progress::{cause, current_step, left_over, not_put_back, steps};
use crate::sentence::ended;
use crate::wire::{self, StepState, ToWire};

/// All that is known about an operation.
pub(super) struct OperationFacts<'a> {
    pub(super) inspection: &'a Inspection,
    /// `None` when this release does not have the workflow.
    pub(super) plan: Option<&'a WorkflowInfo>,
    pub(super) now: Timestamp,
    pub(super) paused_by: Option<PausedBy>,
    /// The operation that has the resource, where this one queues for it.
    pub(super) queued_behind: Option<OperationId>,
}

pub(super) struct PausedBy {
    pub(super) by: String,
    pub(super) reason: String,
    pub(super) at: Timestamp,
}

pub(super) fn explain(known: &OperationFacts) -> wire::Explanation {
    let (summary, memory) = (known.summary(), known.memory());
    let is_over = summary.phase.is_final();
    let step = known.blocking_step();
    let attempt = step.as_ref().map(|step| step.attempt).filter(|attempt| *attempt > 0);
    wire::Explanation {
        id: summary.id.0,
        workflow: summary.workflow.clone(),
        phase: summary.phase.to_wire(),
        reason: known.reason(step.as_ref()),
        last_error: memory.last_error.as_ref().to_wire(),
        attempt,
        next_attempt: summary.due_at.filter(|_| !is_over).to_wire(),
        waiting_for_key: known.key().map(str::to_owned),
        queued_behind: known.queued_behind.map(|id| id.0),
        node: summary.owner.map(|node| node.0),
        deadline_at: summary.deadline_at.to_wire(),
        left_over: left_over(known.inspection, known.plan),
        what_you_can_do: known.advice(),
        title: step.as_ref().map(|step| step.title.clone()),
        blocking_step: step.map(|step| step.name),
    }
}

impl OperationFacts<'_> {
    fn summary(&self) -> &Summary {
        &self.inspection.shown.summary
    }

    fn memory(&self) -> &Memory {
        &self.inspection.memory
    }

    /// Due, and no node owns it.
    fn overdue_since(&self) -> Option<Timestamp> {
        let summary = self.summary();
        let is_free = summary.owner.is_none() && !summary.phase.is_final() && self.queued_behind.is_none();
        summary.due_at.filter(|due_at| is_free && *due_at <= self.now)
    }

    fn key(&self) -> Option<&str> {
        let is_waiting = matches!(self.summary().phase, Phase::Waiting | Phase::Undoing);
        self.memory().wait.as_ref().filter(|_| is_waiting).and_then(|wait| wait.key.as_deref())
    }

    fn blocking_step(&self) -> Option<wire::Step> {
        let (summary, memory) = (self.summary(), self.memory());
        let mut steps = steps(self.inspection, self.plan);
        let named = memory
            .stuck
            .as_ref()
            .map(|stuck| stuck.step.as_str())
            .or(memory.wait.as_ref().map(|wait| wait.step.as_str()))
            .or(current_step(self.inspection, self.plan))
            .or(summary.step.as_deref());
        // The engine waits under a name of its own between two starts of a clean-up; that is not a step.
        let at = named.and_then(|name| steps.iter().position(|step| step.name == name));
        let at = at.or_else(|| {
            let wanted: &[StepState] = match summary.phase {
                Phase::Succeeded | Phase::Cancelled | Phase::Pending => &[],
                Phase::Failed | Phase::Undone => &[StepState::Failed],
                _ => &[StepState::Retrying, StepState::Waiting, StepState::Running, StepState::Skipped],
            };
            wanted.iter().find_map(|state| steps.iter().position(|step| step.state == *state))
        });
        at.map(|at| steps.swap_remove(at))
    }

    fn reason(&self, step: Option<&wire::Step>) -> String {
        let mut reason = self.standing(step);
        if let Some(control) = &self.summary().control {
            let received = match self.summary().owner {
                Some(_) => "which takes effect when the running step ends",
                None => "which takes effect when a node picks it up",
            };
            reason =
                format!("{reason}; {} requested {} at {}, {received}", control.by, control.verb, control.at);
        }
        reason
    }

    fn standing(&self, step: Option<&wire::Step>) -> String {
        let summary = self.summary();
        let because = cause(self.inspection);
        match summary.phase {
            phase if phase.is_final() => self.ending(because.as_deref()),
            _ if self.plan.is_none() => format!(
                "this release has no workflow {}; only a node with a release that has it can continue",
                summary.workflow
            ),
            Phase::Stuck => {
                format!(
                    "it is stuck and needs an operator: {}",
                    because.as_deref().unwrap_or("no reason is known")
                )
            }
            Phase::Paused => self.paused(),
            Phase::Pending if self.queued_behind.is_some() => {
                let holder = self.queued_behind.map(|id| id.to_string()).unwrap_or_default();
                format!("queued until operation {holder} on the same resource has finished")
            }
            _ if summary.owner.is_some() => self.under_way(step, because.as_deref()),
            _ => self.at_rest(step, because.as_deref()),
        }
    }

    fn ending(&self, because: Option<&str>) -> String {
        let summary = self.summary();
        let at = summary.finished_at.map(|at| format!(" at {at}")).unwrap_or_default();
        let because = because.map(|because| format!(": {because}")).unwrap_or_default();
        let left = not_put_back(self.inspection);
        if summary.phase == Phase::Undone && !left.is_empty() {
            let left = left.join("; ");
            return format!(
                "it is finished{at}: it failed, and not everything could be undone{because}; {left}"
            );
        }
        format!("it is finished{at}: {}{because}", ended(summary.phase))
    }

    fn paused(&self) -> String {
        match &self.paused_by {
            Some(PausedBy { by, reason, at }) if reason.is_empty() => format!("{by} paused it at {at}"),
            Some(PausedBy { by, reason, at }) => format!("{by} paused it at {at}: {reason}"),
            None => "an operator paused it".into(),
        }
    }

    /// A node has it.
    fn under_way(&self, step: Option<&wire::Step>, because: Option<&str>) -> String {
        let node = self.summary().owner.map(|node| node.to_string()).unwrap_or_default();
        let doing = match (self.memory().goes_back(), step) {
            (true, Some(step)) => format!("is undoing {}", step.name),
            (true, None) => "is undoing what it created".into(),
            (false, Some(step)) => format!("is running {}", step.name),
            (false, None) => "is working on it".into(),
        };
        format!("node {node} {doing}{}", self.direction(because))
    }

    /// No node owns it: it waits for a time, a signal or a node.
    fn at_rest(&self, step: Option<&wire::Step>, because: Option<&str>) -> String {
        let (summary, memory) = (self.summary(), self.memory());
        if let Some(since) = self.overdue_since() {
            let direction = self.direction(because);
            return format!("it has been due since {since}, and no node has taken it yet{direction}");
        }
        let until = summary.due_at.map(|at| format!(" until {at}")).unwrap_or_default();
        let waits = match (&memory.wait, step) {
            (Some(wait), Some(step)) if wait.step == step.name => match &wait.key {
                Some(key) => {
                    let key = self.own_key(key).unwrap_or(key);
                    format!("{} waits for the signal {key}{until}: {}", step.name, wait.reason)
                }
                None => format!("{} waits{until}: {}", step.name, wait.reason),
            },
            (Some(wait), _) => format!("it waits{until}: {}", wait.reason),
            (None, Some(step)) if step.attempt > 0 => {
                let error = memory.last_error.as_ref().map(|error| error.cause.as_str()).unwrap_or_default();
                format!("{} failed {} and waits{until}: {error}", step.name, times(step.attempt))
            }
            _ => {
                let reason = summary.reason.as_deref().unwrap_or("no node has taken it yet");
                format!("it waits{until}: {reason}")
            }
        };
        format!("{waits}{}", self.direction(because))
    }

    fn direction(&self, because: Option<&str>) -> String {
        let Some(undo_reason) = &self.memory().undo_reason else { return String::new() };
        let because = because.unwrap_or_default();
        match (undo_reason.because, &undo_reason.step) {
            (Because::Failed, Some(step)) => format!(" (undoing because {step} failed: {because})"),
            _ => format!(" (undoing: {because})"),
        }
    }

    /// The name of a signal that only this operation waits for; in the key its id stands before it.
    fn own_key<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(&self.summary().id.to_string())?.strip_prefix('/')
    }

    /// Sentences with commands, the most helpful first.
    fn advice(&self) -> Vec<String> {
        let summary = self.summary();
        let (id, phase) = (summary.id, summary.phase);
        let mut advice = Vec::new();
        if phase.is_final() {
            if phase.allows(PhaseVerb::Retry) {
                advice.push(format!("`provision-engine operations retry {id}` starts it again"));
            }
            advice.push(format!("`provision-engine operations show {id}` shows what it did"));
            return advice;
        }
        if self.plan.is_none() {
            advice.push("start a node with a release that has the workflow".into());
            advice.push("`provision-engine check --against-db` lists all operations like this one".into());
        }
        if let Some(holder) = self.queued_behind {
            advice.push(format!("`provision-engine explain {holder}` says why that one is not finished"));
        }
        if self.overdue_since().is_some() {
            advice.push("`provision-engine status` shows whether a node is running and ready".into());
        }
        if let Some(key) = self.key() {
            advice.push(match self.own_key(key) {
                Some(own) => format!("`provision-engine operations signal {id} {own}` ends the wait at once"),
                None => format!("`POST /signals/{key}` ends the wait at once"),
            });
        }
        if phase == Phase::Stuck {
            advice.push("look at the external system for what is left over before you decide".into());
        }
        advice.extend(self.verbs());
        if matches!(phase, Phase::Pending | Phase::Running | Phase::Waiting | Phase::Undoing) {
            advice.push(format!("`provision-engine operations watch {id}` follows it"));
        }
        advice
    }

    fn verbs(&self) -> Vec<String> {
        let (id, phase) = (self.summary().id, self.summary().phase);
        let leaves = self.plan.is_some_and(|plan| plan.on_failure == "leave");
        let cancelled = match (phase, leaves) {
            (Phase::Stuck, _) if self.memory().goes_back() => "tries to undo the rest once more",
            (_, true) => "cancels it and leaves what it created",
            (_, false) => "cancels it and undoes what it created",
        };
        let means = [
            (PhaseVerb::Resume, "continues it"),
            (PhaseVerb::Retry, "tries again at once, with a whole retry budget"),
            (PhaseVerb::Cancel, cancelled),
        ];
        means
            .into_iter()
            .filter(|(verb, _)| phase.allows(*verb))
            .map(|(verb, meaning)| format!("`provision-engine operations {verb} {id}` {meaning}"))
            .collect()
    }
}

fn times(count: u32) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests;
