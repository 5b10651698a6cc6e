use engine::store::{OperationDetail, Summary};
use engine::{Body, Cause};
use engine::{Changes, Event, NodeId, OperationId, PhaseVerb, Timestamp};
use uuid::Uuid;

use super::*;

/// An operation of the plan a, b, c that has this phase and this journal.
pub(crate) fn inspection(phase: Phase, bodies: Vec<Body>) -> Inspection {
    let events: Vec<Event> =
        (1..).zip(bodies).map(|(seq, body)| Event { seq, at: Timestamp(5_000_000), body }).collect();
    let is_running = phase == Phase::Running;
    let summary = Summary {
        name: None,
        id: OperationId(Uuid::from_u128(1)),
        workflow: "test.letters".into(),
        tenant: "default".into(),
        resource: None,
        phase,
        step: None,
        reason: None,
        due_at: None,
        created_at: Timestamp(0),
        deadline_at: Timestamp(60_000_000),
        finished_at: phase.is_final().then_some(Timestamp(6_000_000)),
        owner: is_running.then(|| NodeId(Uuid::from_u128(2))),
        control: None,
    };
    let shown = OperationDetail { summary, params: "{}".into(), memory: None, memory_seq: 0 };
    let seq = events.last().map_or(0, |event| event.seq);
    Inspection { shown, memory: Memory::default().fold(&events), seq, unreadable: None }
}

pub(crate) fn plan() -> WorkflowInfo {
    let step = |weight, name: &str, title: &str, conditional| StepInfo {
        weight,
        name: name.into(),
        title: title.into(),
        effect: "keyed",
        driver: None,
        conditional,
        clean_up: false,
    };
    WorkflowInfo {
        workflow: "test.letters".into(),
        version: None,
        about: "Spells.".into(),
        on_failure: "unwind",
        deadline_seconds: 60,
        housekeeping: false,
        steps: vec![
            step(1, "a", "Writing a", false),
            step(2, "b", "Writing b", false),
            step(3, "c", "Writing c", true),
        ],
        schema: std::sync::Arc::default(),
    }
}

pub(crate) fn created() -> Body {
    Body::Created { by: "ci".into(), started: Some("a".into()), made_by: None }
}

pub(crate) fn stepped(done: &str, started: &str) -> Body {
    let changes = Changes { done: vec![done.into()], ..Changes::default() };
    Body::Stepped { changes, started: Some(started.into()) }
}

pub(crate) fn waited(step: &str, reason: &str, key: Option<&str>) -> Body {
    Body::Waited {
        step: step.into(),
        reason: reason.into(),
        key: key.map(str::to_owned),
        until: Timestamp(9_000_000),
        changes: Changes::default(),
    }
}

pub(crate) fn retried(step: &str, cause: &str, attempt: u32, undo: bool) -> Body {
    Body::Retried {
        step: step.into(),
        cause: cause.into(),
        attempt,
        spent_ms: 10,
        until: Timestamp(9_000_000),
        undo,
        changes: Changes::default(),
    }
}

pub(crate) fn undo_reason(step: &str, cause: &str) -> Body {
    Body::Turned {
        step: Some(step.into()),
        because: Because::Failed,
        cause: cause.into(),
        changes: Changes::default(),
    }
}

pub(crate) fn stuck(step: &str, cause: &str, left_over: &[&str]) -> Body {
    Body::Stuck {
        step: step.into(),
        cause: cause.into(),
        left_over: left_over.iter().map(|name| (*name).to_owned()).collect(),
        changes: Changes::default(),
    }
}

pub(crate) fn finished(phase: Phase, step: Option<&str>, cause: Option<&str>, undone: &[&str]) -> Body {
    let changes =
        Changes { undone: undone.iter().map(|name| (*name).to_owned()).collect(), ..Changes::default() };
    Body::Finished { phase, step: step.map(str::to_owned), cause: cause.map(Cause::from), changes }
}

#[track_caller]
fn check(phase: Phase, bodies: Vec<Body>, expect: &str) {
    let found: Vec<String> = steps(&inspection(phase, bodies), Some(&plan()))
        .into_iter()
        .map(|step| {
            let state = serde_json::to_value(step.state).unwrap();
            let attempt = if step.attempt > 0 { format!("#{}", step.attempt) } else { String::new() };
            let cause = step.cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
            format!("{}:{}{attempt}{cause}", step.name, state.as_str().unwrap())
        })
        .collect();
    assert_eq!(found.join(", "), expect);
}

#[test]
fn each_step_has_the_state_that_the_journal_tells() {
    use Phase::{Cancelled, Failed, Paused, Pending, Running, Stuck, Succeeded, Undoing, Undone, Waiting};
    check(Pending, vec![], "a:pending, b:pending, c:pending");
    check(Running, vec![created()], "a:running, b:pending, c:pending");
    check(Running, vec![created(), stepped("a", "b")], "a:done, b:running, c:pending");
    check(Paused, vec![created(), stepped("a", "b")], "a:done, b:pending, c:pending");
    let waits = vec![created(), stepped("a", "b"), waited("b", "it builds", None)];
    check(Waiting, waits, "a:done, b:waiting (it builds), c:pending");
    let retries = vec![created(), stepped("a", "b"), retried("b", "no route", 2, false)];
    check(Waiting, retries, "a:done, b:retrying#2 (no route), c:pending");
    let goes_back =
        vec![created(), stepped("a", "b"), undo_reason("b", "quota"), retried("a", "busy", 1, true)];
    check(Undoing, goes_back, "a:retrying#1 (busy), b:failed (quota), c:not_run");
    let is_stuck = vec![created(), stepped("a", "b"), undo_reason("b", "quota"), stuck("a", "gone", &["a"])];
    check(Stuck, is_stuck, "a:undo_failed (gone), b:failed (quota), c:not_run");
    let undone = finished(Phase::Undone, None, Some("quota"), &["a", "b"]);
    let all_back = vec![created(), stepped("a", "b"), undo_reason("b", "quota"), undone];
    check(Undone, all_back, "a:undone, b:failed (quota), c:not_run");
    let left = vec![created(), stepped("a", "b"), finished(Failed, Some("b"), Some("quota"), &[])];
    check(Failed, left, "a:done, b:failed (quota), c:not_run");
    let cut_off = vec![created(), finished(Cancelled, None, Some("cancelled by eve"), &[])];
    check(Cancelled, cut_off, "a:failed (the operation ended before it was done), b:not_run, c:not_run");
    let mut changes = Changes { done: vec!["a".into()], ..Changes::default() };
    changes.skipped.insert("b".into(), "gave up".into());
    let over = Body::Finished { phase: Succeeded, step: None, cause: None, changes };
    let did_not_apply = "a:done, b:skipped (gave up), c:skipped (it did not apply to this operation)";
    check(Succeeded, vec![created(), over], did_not_apply);
}

#[test]
fn steps_that_left_the_plan_are_still_shown() {
    let gone = inspection(Phase::Waiting, vec![created(), stepped("a", "z"), waited("z", "hm", None)]);
    let all = steps(&gone, Some(&plan()));
    assert_eq!((all[3].weight, all[3].name.as_str(), all[3].state), (0, "z", StepState::Waiting));
    let without_plan = steps(&gone, None);
    assert_eq!(without_plan.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["a", "z"]);
}

#[test]
fn what_may_be_left_over_is_only_told_when_it_matters() {
    let plan = plan();
    let going = inspection(Phase::Running, vec![created(), stepped("a", "b")]);
    assert!(left_over(&going, Some(&plan)).is_empty());
    let failed = inspection(Phase::Failed, vec![created(), stepped("a", "b")]);
    assert_eq!(left_over(&failed, Some(&plan)), ["a", "b"]);
    let is_stuck = inspection(Phase::Stuck, vec![created(), stuck("b", "gone", &["b"])]);
    assert_eq!(left_over(&is_stuck, Some(&plan)), ["b"]);
    let revived = vec![
        created(),
        finished(Phase::Undone, None, None, &["a"]),
        Body::Asked { verb: PhaseVerb::Retry, by: "eve".into(), reason: String::new(), at: Timestamp(1) },
    ];
    assert!(left_over(&inspection(Phase::Pending, revived), Some(&plan)).is_empty());
}
