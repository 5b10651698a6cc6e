use engine::store::ControlRequest;
use engine::{Body, NodeId};
use uuid::Uuid;

use super::*;
use crate::operations::progress::tests::{
    created, finished, inspection, plan, retried, stepped, stuck, undo_reason, waited,
};

const NOW: Timestamp = Timestamp(7_000_000);
const LATER: Timestamp = Timestamp(9_000_000);
const ID: &str = "00000000-0000-0000-0000-000000000001";

struct Case(Inspection);

fn case(phase: Phase, bodies: Vec<Body>) -> Case {
    Case(inspection(phase, bodies))
}

impl Case {
    fn due(mut self, at: Timestamp) -> Case {
        self.0.shown.summary.due_at = Some(at);
        self
    }

    fn explain(&self) -> wire::Explanation {
        self.explain_with(Some(&plan()), None, None)
    }

    fn explain_with(
        &self,
        plan: Option<&WorkflowInfo>,
        paused_by: Option<PausedBy>,
        queued_behind: Option<OperationId>,
    ) -> wire::Explanation {
        explain(&OperationFacts { inspection: &self.0, plan, now: NOW, paused_by, queued_behind })
    }

    #[track_caller]
    fn reads(&self, reason: &str) -> wire::Explanation {
        let explanation = self.explain();
        assert_eq!(explanation.reason, reason);
        explanation
    }
}

fn under_way() -> Vec<Body> {
    vec![created(), stepped("a", "b")]
}

fn and(mut bodies: Vec<Body>, more: Vec<Body>) -> Vec<Body> {
    bodies.extend(more);
    bodies
}

#[test]
fn a_wait_names_its_step_its_reason_and_its_key() {
    let bodies = and(under_way(), vec![waited("b", "the image is building", Some("image-1"))]);
    let told = case(Phase::Waiting, bodies)
        .due(LATER)
        .reads("b waits for the signal image-1 until 1970-01-01T00:00:09Z: the image is building");
    assert_eq!((told.blocking_step.as_deref(), told.title.as_deref()), (Some("b"), Some("Writing b")));
    assert_eq!(told.waiting_for_key.as_deref(), Some("image-1"));
    assert_eq!(told.next_attempt, Some(LATER.to_wire()));
    let advice = told.what_you_can_do.join("\n");
    assert!(advice.contains("`POST /signals/image-1` ends the wait at once"), "{advice}");
    assert!(
        advice.contains(&format!("`provision-engine operations retry {ID}` tries again at once")),
        "{advice}"
    );
}

#[test]
fn a_retry_repeats_the_error_word_for_word() {
    let bodies = and(under_way(), vec![retried("b", "503: no \"room\"", 3, false)]);
    let told = case(Phase::Waiting, bodies)
        .due(LATER)
        .reads("b failed 3 times and waits until 1970-01-01T00:00:09Z: 503: no \"room\"");
    assert_eq!(told.attempt, Some(3));
    let error = told.last_error.unwrap();
    assert_eq!((error.step.as_str(), error.cause.as_str()), ("b", "503: no \"room\""));
}

#[test]
fn an_operation_that_is_due_and_that_no_one_takes_says_so() {
    let told = case(Phase::Pending, vec![created()])
        .due(Timestamp(1_000_000))
        .reads("it has been due since 1970-01-01T00:00:01Z, and no node has taken it yet");
    assert!(told.what_you_can_do[0].contains("provision-engine status"), "{:?}", told.what_you_can_do);
    case(Phase::Pending, vec![created()]).reads("it waits: no node has taken it yet");
}

#[test]
fn a_running_operation_names_its_node_and_its_step() {
    let told =
        case(Phase::Running, under_way()).reads("node 00000000-0000-0000-0000-000000000002 is running b");
    assert_eq!(told.node, Some(Uuid::from_u128(2)));
    assert_eq!(told.blocking_step.as_deref(), Some("b"));
}

#[test]
fn a_queued_operation_names_the_one_before_it() {
    let holder = OperationId(Uuid::from_u128(9));
    let told = case(Phase::Pending, vec![created()]).explain_with(Some(&plan()), None, Some(holder));
    assert_eq!(told.reason, format!("queued until operation {holder} on the same resource has finished"));
    assert_eq!(told.queued_behind, Some(holder.0));
    assert_eq!(
        told.what_you_can_do[0],
        format!("`provision-engine explain {holder}` says why that one is not finished")
    );
}

#[test]
fn a_paused_operation_names_who_paused_it() {
    let paused = PausedBy { by: "eve".into(), reason: "lunch".into(), at: LATER };
    let told = case(Phase::Paused, under_way()).explain_with(Some(&plan()), Some(paused), None);
    assert_eq!(told.reason, "eve paused it at 1970-01-01T00:00:09Z: lunch");
    let advice = told.what_you_can_do.join("\n");
    assert!(advice.contains(&format!("`provision-engine operations resume {ID}` continues it")), "{advice}");
}

#[test]
fn a_stuck_operation_lists_what_is_left_over() {
    let bodies =
        and(under_way(), vec![undo_reason("b", "quota"), stuck("a", "the external system is gone", &["a"])]);
    let told =
        case(Phase::Stuck, bodies).reads("it is stuck and needs an operator: the external system is gone");
    assert_eq!((told.blocking_step.as_deref(), told.left_over), (Some("a"), vec!["a".to_owned()]));
    assert!(told.what_you_can_do[0].contains("external system"), "{:?}", told.what_you_can_do);
}

#[test]
fn an_operation_on_its_way_back_says_why_it_turned() {
    let bodies = and(under_way(), vec![undo_reason("b", "quota"), retried("a", "busy", 1, true)]);
    let told = case(Phase::Undoing, bodies)
        .due(LATER)
        .reads("a failed once and waits until 1970-01-01T00:00:09Z: busy (undoing because b failed: quota)");
    assert_eq!(told.left_over, ["a", "b"]);
    let mut running = case(Phase::Undoing, and(under_way(), vec![undo_reason("b", "quota")]));
    running.0.shown.summary.owner = Some(NodeId(Uuid::from_u128(2)));
    let expect = "is undoing b (undoing because b failed: quota)";
    assert!(running.explain().reason.ends_with(expect), "{}", running.explain().reason);
}

#[test]
fn an_unknown_workflow_is_said_to_be_unknown() {
    let told = case(Phase::Waiting, under_way()).explain_with(None, None, None);
    assert!(told.reason.starts_with("this release has no workflow test.letters"), "{}", told.reason);
    assert!(told.what_you_can_do[1].contains("check --against-db"), "{:?}", told.what_you_can_do);
}

#[test]
fn a_control_that_was_not_heard_yet_is_told() {
    let mut asked = case(Phase::Running, under_way());
    asked.0.shown.summary.control = Some(ControlRequest {
        verb: PhaseVerb::Cancel,
        by: "eve".into(),
        reason: String::new(),
        at: LATER,
        number: 0,
    });
    let reason = asked.explain().reason;
    assert!(reason.contains("; eve requested cancel at 1970-01-01T00:00:09Z"), "{reason}");
}

#[test]
fn a_finished_operation_says_how_it_ended() {
    let told =
        case(Phase::Succeeded, under_way()).reads("it is finished at 1970-01-01T00:00:06Z: it succeeded");
    assert_eq!(told.blocking_step, None);
    let bodies = and(
        under_way(),
        vec![undo_reason("b", "quota"), finished(Phase::Undone, None, Some("quota"), &["a", "b"])],
    );
    let told = case(Phase::Undone, bodies).reads(
        "it is finished at 1970-01-01T00:00:06Z: it failed, and everything it created was undone: quota",
    );
    assert_eq!((told.blocking_step.as_deref(), told.left_over.len()), (Some("b"), 0));
    assert_eq!(told.what_you_can_do[0], format!("`provision-engine operations retry {ID}` starts it again"));
}

#[test]
fn an_undone_operation_says_what_it_could_not_put_back() {
    let bodies = and(
        under_way(),
        vec![undo_reason("b", "quota"), finished(Phase::Undone, None, Some("quota"), &["a", "b"])],
    );
    let mut case = case(Phase::Undone, bodies);
    case.0.memory.state = serde_json::json!({"leftovers": ["the disk stays at 2048 MB"]});
    let reason = case.explain().reason;
    assert!(reason.ends_with("not everything could be undone: quota; the disk stays at 2048 MB"), "{reason}");
    assert!(!reason.contains("everything it made was undone"), "{reason}");
}

#[test]
fn every_phase_has_a_reason() {
    for phase in Phase::ALL {
        for bodies in [vec![], under_way()] {
            assert!(!case(phase, bodies).explain().reason.is_empty(), "{phase}");
        }
    }
}
