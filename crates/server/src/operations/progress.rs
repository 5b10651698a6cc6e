//! The progress of an operation: its plan and its memory, step by step.

use std::collections::BTreeSet;

use engine::{Because, Inspection, Memory, Phase, StepInfo, WorkflowInfo};

use crate::wire::{Step, StepState};

/// Every step of the plan, and every step of which only the memory knows.
pub(super) fn steps(inspection: &Inspection, plan: Option<&WorkflowInfo>) -> Vec<Step> {
    let view = View::of(inspection);
    let planned = plan.map(|plan| plan.steps.as_slice()).unwrap_or_default();
    let current = view.current(planned);
    let mut steps: Vec<Step> = planned
        .iter()
        .map(|info| {
            let (state, cause) =
                view.state(&info.name, info.conditional, current == Some(info.name.as_str()));
            step((info.weight, &info.name, &info.title), &view, state, cause)
        })
        .collect();
    let known: BTreeSet<&str> = planned.iter().map(|info| info.name.as_str()).collect();
    for name in view.names().filter(|name| !known.contains(name)) {
        let (state, cause) = view.state(name, false, current == Some(name));
        steps.push(step((0, name, "(this release does not have this step)"), &view, state, cause));
    }
    steps
}

/// The step that a node is in.
pub(super) fn current_step<'p>(inspection: &Inspection, plan: Option<&'p WorkflowInfo>) -> Option<&'p str> {
    View::of(inspection).current(plan.map(|plan| plan.steps.as_slice()).unwrap_or_default())
}

/// Why the operation failed, goes back or is stuck.
pub(super) fn cause(inspection: &Inspection) -> Option<String> {
    let (summary, memory) = (&inspection.shown.summary, &inspection.memory);
    let stuck = memory.stuck.as_ref().map(|stuck| stuck.cause.to_string());
    let undo_reason = memory.undo_reason.as_ref().map(|undo_reason| undo_reason.cause.to_string());
    let set_aside =
        || summary.reason.clone().filter(|_| summary.phase == Phase::Stuck || summary.phase.is_final());
    stuck.or(undo_reason).or_else(set_aside)
}

/// Steps whose work may still be in the world although the operation goes back or has ended.
pub(super) fn left_over(inspection: &Inspection, plan: Option<&WorkflowInfo>) -> Vec<String> {
    let (phase, memory) = (inspection.shown.summary.phase, &inspection.memory);
    if let Some(stuck) = &memory.stuck {
        return stuck.left_over.clone();
    }
    let has_ended_badly = matches!(phase, Phase::Failed | Phase::Cancelled | Phase::Undone | Phase::Stuck);
    if !has_ended_badly && !memory.goes_back() {
        return Vec::new();
    }
    let is_pure = |name: &str| {
        plan.is_some_and(|plan| plan.steps.iter().any(|step| step.name == name && step.effect == "pure"))
    };
    memory.started.difference(&memory.undone).filter(|name| !is_pure(name)).cloned().collect()
}

/// What the undone steps say that they could not put back, in their own words.
pub(super) fn not_put_back(inspection: &Inspection) -> Vec<&str> {
    let said = inspection.memory.state.get("leftovers").and_then(serde_json::Value::as_array);
    said.into_iter().flatten().filter_map(serde_json::Value::as_str).collect()
}

fn step(
    (weight, name, title): (u16, &str, &str),
    view: &View,
    state: StepState,
    cause: Option<String>,
) -> Step {
    let attempt = view.attempts(name);
    Step { weight, name: name.to_owned(), title: title.to_owned(), state, attempt, cause }
}

/// What is needed to tell the state of a step.
struct View<'a> {
    phase: Phase,
    is_owned: bool,
    reason: Option<&'a str>,
    memory: &'a Memory,
}

impl View<'_> {
    fn of(inspection: &Inspection) -> View<'_> {
        let summary = &inspection.shown.summary;
        View {
            phase: summary.phase,
            is_owned: summary.owner.is_some(),
            reason: summary.reason.as_deref(),
            memory: &inspection.memory,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let memory = self.memory;
        let all: BTreeSet<&str> = memory
            .started
            .iter()
            .chain(&memory.done)
            .chain(&memory.undone)
            .chain(memory.skipped.keys())
            .map(String::as_str)
            .collect();
        all.into_iter()
    }

    fn attempts(&self, name: &str) -> u32 {
        self.memory.budget(name, self.memory.goes_back()).attempts
    }

    /// The step that a node is in, as far as the journal tells. Steps that touch nothing outside are not
    /// announced, so the first one that is not done yet is taken for it.
    fn current<'p>(&self, planned: &'p [StepInfo]) -> Option<&'p str> {
        if !self.is_owned || !matches!(self.phase, Phase::Running | Phase::Undoing) {
            return None;
        }
        let memory = self.memory;
        if memory.goes_back() {
            let is_left = |info: &&StepInfo| {
                info.effect != "pure"
                    && memory.started.contains(&info.name)
                    && !memory.undone.contains(&info.name)
            };
            return planned.iter().rev().find(is_left).map(|info| info.name.as_str());
        }
        let open = memory.open.as_deref();
        let announced = planned.iter().map(|info| info.name.as_str()).find(|name| open == Some(name));
        let is_next = |info: &&StepInfo| {
            !memory.done.contains(&info.name) && !memory.skipped.contains_key(&info.name) && !info.conditional
        };
        announced.or_else(|| planned.iter().find(is_next).map(|info| info.name.as_str()))
    }

    fn state(&self, name: &str, conditional: bool, is_current: bool) -> (StepState, Option<String>) {
        let memory = self.memory;
        if let Some(cause) = self.undo_failed(name) {
            return (StepState::UndoFailed, Some(cause));
        }
        if let Some(cause) = self.failed(name) {
            return (StepState::Failed, Some(cause));
        }
        if memory.undone.contains(name) {
            return (StepState::Undone, None);
        }
        if let Some(cause) = memory.skipped.get(name) {
            return (StepState::Skipped, Some(cause.to_string()));
        }
        if let Some(wait) = memory.wait.as_ref().filter(|wait| wait.step == name) {
            return (StepState::Waiting, Some(wait.reason.clone()));
        }
        if self.attempts(name) > 0 {
            let cause = memory.last_error.as_ref().filter(|error| error.step == name);
            return (StepState::Retrying, cause.map(|error| error.cause.to_string()));
        }
        if is_current {
            return (StepState::Running, None);
        }
        if let Some(reason) = memory.unneeded.get(name) {
            return (StepState::Skipped, Some(reason.to_string()));
        }
        if memory.done.contains(name) {
            return (StepState::Done, None);
        }
        match self.phase {
            Phase::Succeeded if conditional => {
                (StepState::Skipped, Some("it did not apply to this operation".into()))
            }
            Phase::Succeeded => (StepState::Skipped, Some("the plan did not have it at that time".into())),
            phase if phase.is_final() || memory.goes_back() => (StepState::NotRun, None),
            _ => (StepState::Pending, None),
        }
    }

    fn undo_failed(&self, name: &str) -> Option<String> {
        let stuck = self.memory.stuck.as_ref().filter(|stuck| stuck.step == name);
        stuck.filter(|_| self.memory.goes_back()).map(|stuck| stuck.cause.to_string())
    }

    /// Why this step failed, if it did. What was taken back afterwards still failed.
    fn failed(&self, name: &str) -> Option<String> {
        let memory = self.memory;
        if let Some(stuck) = memory.stuck.as_ref().filter(|stuck| stuck.step == name) {
            return Some(stuck.cause.to_string());
        }
        if let Some(undo_reason) =
            memory.undo_reason.as_ref().filter(|undo_reason| undo_reason.because == Because::Failed)
            && undo_reason.step.as_deref() == Some(name)
        {
            return Some(undo_reason.cause.to_string());
        }
        let is_over = matches!(self.phase, Phase::Failed | Phase::Cancelled);
        let was_under_way = memory.started.contains(name) && !memory.done.contains(name);
        if self.phase == Phase::Failed
            && let Some(error) = memory.last_error.as_ref().filter(|error| error.step == name)
        {
            return Some(error.cause.to_string());
        }
        let was_cut_off = is_over && was_under_way && !memory.undone.contains(name);
        was_cut_off.then(|| self.reason.unwrap_or("the operation ended before it was done").to_owned())
    }
}

#[cfg(test)]
pub(super) mod tests;
