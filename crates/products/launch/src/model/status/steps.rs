//! The steps of a launch one by one.

use engine::{Body, Changes, Event, Inspection, Memory, Phase, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::stage::current;
use crate::model::record::LaunchRecord;
use crate::model::state::Tracked;
use crate::workflows::launch::{Line, TABLE};
use crate::workflows::launch::{
    build_image, fetch_addresses, launch_instances, submit_build, upload_public_key,
};

#[derive(Debug, Clone, PartialEq)]
pub struct StepView {
    pub index: usize,
    pub name: &'static str,
    pub title: &'static str,
    pub state: StepState,
    /// How often it was tried again since it last got on.
    pub attempt: u32,
    pub next_attempt_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// How much of how much.
    pub progress: Option<(u32, u32)>,
    /// What came of it.
    pub outputs: Option<Value>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Pending,
    Running,
    Waiting,
    Retrying,
    Succeeded,
    /// Its turn never came.
    Skipped,
    Failed,
    Compensating,
    Compensated,
    CompensationFailed,
}

impl StepState {
    pub fn as_str(self) -> &'static str {
        match self {
            StepState::Pending => "pending",
            StepState::Running => "running",
            StepState::Waiting => "waiting",
            StepState::Retrying => "retrying",
            StepState::Succeeded => "succeeded",
            StepState::Skipped => "skipped",
            StepState::Failed => "failed",
            StepState::Compensating => "compensating",
            StepState::Compensated => "compensated",
            StepState::CompensationFailed => "compensation_failed",
        }
    }
}

/// As far as the record alone tells.
pub(crate) fn coarse(record: &LaunchRecord) -> Vec<StepView> {
    let failed = record.state.error.as_ref().map(|error| error.step.as_str());
    let is_over = record.stage.is_over();
    let current = current(record.shape(), &record.state).map(Line::name);
    let state = |name: &str| {
        let is_done = record.state.has_done(name);
        match () {
            () if is_over && !is_done && failed == Some(name) => StepState::Failed,
            () if is_done => StepState::Succeeded,
            () if is_over || record.state.undo_cause.is_some() => StepState::Skipped,
            () if failed == Some(name) => StepState::Retrying,
            () if current == Some(name) => StepState::Running,
            () => StepState::Pending,
        }
    };
    views(record, state)
}

/// With what the operation knows.
pub(crate) fn detailed(record: &LaunchRecord, inspection: &Inspection, journal: &[Event]) -> Vec<StepView> {
    let memory = &inspection.memory;
    let mut views = views(record, |name| judge(name, record, inspection));
    for view in &mut views {
        let undo = memory.goes_back();
        let counted = record.state.error.as_ref().filter(|error| error.step == view.name);
        let counted = counted.and_then(|error| error.attempt).unwrap_or_default();
        view.attempt = memory.budget(view.name, undo).attempts.max(counted);
        let is_next = inspection.shown.summary.step.as_deref() == Some(view.name);
        view.next_attempt_at = inspection.shown.summary.due_at.filter(|_| is_next);
        if view.error.is_none() && is_failing(view.state) {
            let last = memory.last_error.as_ref().filter(|last| last.step == view.name);
            view.error = last.map(|last| last.cause.to_string());
        }
        (view.started_at, view.finished_at) = times(view.name, journal);
    }
    views
}

fn is_failing(state: StepState) -> bool {
    use StepState::{Compensating, CompensationFailed, Failed, Retrying};
    matches!(state, CompensationFailed | Compensating | Failed | Retrying)
}

fn judge(name: &str, record: &LaunchRecord, inspection: &Inspection) -> StepState {
    let memory: &Memory = &inspection.memory;
    let phase = inspection.shown.summary.phase;
    let is_here = inspection.shown.summary.step.as_deref() == Some(name);
    let failed = memory.undo_reason.as_ref().and_then(|undo_reason| undo_reason.step.as_deref());
    let is_done = record.state.has_done(name) || memory.done.contains(name);
    match () {
        () if phase == Phase::Stuck && memory.stuck.as_ref().is_some_and(|stuck| stuck.step == name) => {
            StepState::CompensationFailed
        }
        () if failed == Some(name) && !(is_here && phase == Phase::Undoing) => StepState::Failed,
        () if memory.undone.contains(name) && memory.started.contains(name) => StepState::Compensated,
        () if memory.goes_back() && is_here && !phase.is_final() => StepState::Compensating,
        () if is_done => StepState::Succeeded,
        () if memory.goes_back() || phase.is_final() => StepState::Skipped,
        () if memory.budget(name, false).attempts > 0 => StepState::Retrying,
        () if record.state.error.as_ref().is_some_and(|error| error.step == name) => StepState::Retrying,
        () if memory.wait.as_ref().is_some_and(|wait| wait.step == name) => StepState::Waiting,
        () if memory.open.as_deref() == Some(name) => StepState::Running,
        () => StepState::Pending,
    }
}

fn views(record: &LaunchRecord, state: impl Fn(&str) -> StepState) -> Vec<StepView> {
    let shape = record.shape();
    let error = record.state.error.as_ref();
    let applicable = TABLE.iter().filter(|line| line.applies(shape));
    let view = |(index, line): (usize, &'static Line)| StepView {
        index,
        name: line.name(),
        title: line.title(),
        state: state(line.name()),
        attempt: 0,
        next_attempt_at: None,
        started_at: None,
        finished_at: None,
        progress: progress(line.name(), record),
        outputs: outputs(line.name(), record),
        error: error.filter(|error| error.step == line.name()).map(|error| error.message.clone()),
    };
    applicable.enumerate().map(view).collect()
}

fn progress(name: &str, record: &LaunchRecord) -> Option<(u32, u32)> {
    match name {
        build_image::NAME => {
            let build = record.state.build.as_ref()?;
            build.done.zip(build.total)
        }
        fetch_addresses::NAME if !record.state.instances.is_empty() => {
            let all = &record.state.instances;
            let is_settled = |tracked: &&Tracked| tracked.instance.state.is_gone() || tracked.has_address();
            let known = all.iter().filter(is_settled).count();
            let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            Some((count(known), count(record.state.instances.len())))
        }
        _ => None,
    }
}

fn outputs(name: &str, record: &LaunchRecord) -> Option<Value> {
    let state = &record.state;
    match name {
        submit_build::NAME => Some(json!({ "compose": state.build.as_ref()?.compose })),
        build_image::NAME => serde_json::to_value(state.image.as_ref()?).ok(),
        upload_public_key::NAME => {
            let key = state.key.as_ref()?;
            Some(json!({ "name": key.key.name, "uploaded": key.uploaded }))
        }
        launch_instances::NAME if !state.instances.is_empty() => {
            let ids: Vec<&str> = state.instances.iter().map(|tracked| tracked.instance.id.as_str()).collect();
            Some(json!({ "reservation": state.reservation, "instances": ids }))
        }
        _ => None,
    }
}

/// When a step began for the first time and ended for the last time.
fn times(name: &str, journal: &[Event]) -> (Option<Timestamp>, Option<Timestamp>) {
    let (mut started, mut finished) = (None, None);
    for event in journal {
        if starts(&event.body) == Some(name) {
            started = started.or(Some(event.at));
        }
        if changes(&event.body).is_some_and(|changes| changes.done.iter().any(|done| done == name)) {
            started = started.or(Some(event.at));
            finished = Some(event.at);
        }
    }
    (started, finished)
}

fn starts(body: &Body) -> Option<&str> {
    match body {
        Body::Created { started, .. } | Body::Stepped { started, .. } => started.as_deref(),
        Body::Waited { step, .. } => Some(step),
        _ => None,
    }
}

fn changes(body: &Body) -> Option<&Changes> {
    match body {
        Body::Stepped { changes, .. }
        | Body::Waited { changes, .. }
        | Body::Retried { changes, .. }
        | Body::Turned { changes, .. }
        | Body::Stuck { changes, .. }
        | Body::Finished { changes, .. } => Some(changes),
        _ => None,
    }
}
