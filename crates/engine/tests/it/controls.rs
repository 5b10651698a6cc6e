//! What operators and the outside can say to an operation.

use std::time::Duration;

use engine::{AskError, Command, Phase, PhaseVerb, SubmitError};
use serde_json::json;
use testing::TestEngine;

use crate::scripted::ScriptedEngine;

const WAITING: fn(Phase) -> bool = |phase| phase == Phase::Waiting;

async fn ask(stage: &ScriptedEngine, id: engine::OperationId, verb: PhaseVerb) {
    stage.test_engine.engine.ask(id, verb, "ops", "because").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_is_undone_at_once() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["signal"]})).await;
    stage.test_engine.until(id, WAITING).await;
    ask(&stage, id, PhaseVerb::Cancel).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Cancelled);
    assert_eq!(ended.shown.summary.reason.as_deref(), Some("cancelled by ops: because"));
    assert!(stage.world.standing().is_empty());
    let took = ended.shown.summary.finished_at.unwrap().since(ended.shown.summary.created_at);
    assert!(took < Duration::from_secs(5), "it did not wait for the ten minutes: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_paused_operation_stands_still_until_it_is_resumed() {
    let stage = ScriptedEngine::new().await;
    let id =
        stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["wait", "make"]})).await;
    stage.test_engine.until(id, WAITING).await;
    ask(&stage, id, PhaseVerb::Pause).await;
    stage.test_engine.until(id, |phase| phase == Phase::Paused).await;
    let runs = stage.runs_of("b");
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(stage.runs_of("b"), runs, "nothing ran while it was paused");
    let refused = stage.test_engine.engine.ask(id, PhaseVerb::Pause, "ops", "").await.unwrap_err();
    assert_eq!(refused, AskError::NotNow { phase: Phase::Paused, verb: PhaseVerb::Pause });
    ask(&stage, id, PhaseVerb::Resume).await;
    assert_eq!(stage.test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn pausing_and_cancelling_work_on_the_way_back_too() {
    let stage = ScriptedEngine::new().await;
    let params = json!({"a": ["make"], "b": ["fail"], "undo": ["wait", "wait", "done"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    stage.test_engine.until(id, |phase| phase == Phase::Undoing).await;
    ask(&stage, id, PhaseVerb::Pause).await;
    stage.test_engine.until(id, |phase| phase == Phase::Paused).await;
    ask(&stage, id, PhaseVerb::Resume).await;
    assert_eq!(stage.test_engine.finished(id).await.shown.summary.phase, Phase::Undone);
    assert!(stage.world.standing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn retry_does_not_wait_for_the_next_attempt() {
    let stage = ScriptedEngine::new().await;
    let id =
        stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["wait", "make"]})).await;
    let waiting = stage.test_engine.until(id, WAITING).await;
    ask(&stage, id, PhaseVerb::Retry).await;
    let ended = stage.test_engine.finished(id).await;
    let took = ended.shown.summary.finished_at.unwrap().since(waiting.shown.summary.created_at);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_undo_goes_on_when_it_is_resumed() {
    let stage = ScriptedEngine::new().await;
    let params = json!({"a": ["make"], "b": ["fail"], "undo": ["fail", "done"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    // The script lets the first undo of each step fail.
    for step in ["b", "a"] {
        let is_stuck_there = |inspection: &engine::Inspection| {
            inspection.memory.stuck.as_ref().is_some_and(|stuck| stuck.step == step)
        };
        TestEngine::eventually(async || is_stuck_there(&stage.test_engine.inspect(id).await)).await;
        let stuck = stage.test_engine.until(id, |phase| phase == Phase::Stuck).await.memory.stuck.unwrap();
        let left: &[&str] = if step == "b" { &["a", "b"] } else { &["a"] };
        assert_eq!(stuck.left_over, left, "what was undone is not left over");
        ask(&stage, id, PhaseVerb::Resume).await;
    }
    assert_eq!(stage.test_engine.finished(id).await.shown.summary.phase, Phase::Undone);
    assert!(stage.world.standing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_undone_operation_that_is_retried_begins_a_round_with_new_tokens() {
    let stage = ScriptedEngine::new().await;
    let id =
        stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["fail", "make"]})).await;
    stage.test_engine.finished(id).await;
    ask(&stage, id, PhaseVerb::Retry).await;
    let ended = stage.test_engine.until(id, |phase| phase == Phase::Succeeded).await;
    assert_eq!(ended.memory.round, 1);
    assert_eq!(stage.world.standing().len(), 2);
    assert_eq!(stage.world.ledger().len(), 3, "a of the first round, and a and b of the second");
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_wait_whenever_it_comes() {
    let stage = ScriptedEngine::new().await;
    // Before any caller waits.
    assert_eq!(stage.test_engine.engine.signal("ready", json!({"n": 1})).await.unwrap(), 0);
    let early = stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["signal"]})).await;
    assert_eq!(stage.test_engine.finished(early).await.shown.summary.phase, Phase::Succeeded);
    // While a caller waits.
    let late = stage.test_engine.submit("test.script", None, json!({"a": ["make"], "b": ["signal"]})).await;
    stage.test_engine.until(late, WAITING).await;
    assert_eq!(stage.test_engine.engine.signal("ready", json!({"n": 2})).await.unwrap(), 1);
    let ended = stage.test_engine.finished(late).await;
    assert_eq!(ended.memory.signals["ready"], json!({"n": 2}));
    assert!(stage.test_engine.kinds(late).await.contains("signalled"));
    let took = ended.shown.summary.finished_at.unwrap().since(ended.shown.summary.created_at);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

fn command(resource: &str, key: Option<&str>, queue: bool) -> Command {
    Command {
        name: None,
        workflow: "test.script".into(),
        tenant: "t".into(),
        resource: Some(resource.into()),
        params: json!({"a": ["make"], "b": ["wait", "make"]}),
        by: "me".into(),
        idempotency_key: key.map(str::to_owned),
        queue,
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_resource_refuses_or_queues() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let first = engine.submit_json(command("r", None, false)).await.unwrap().id;
    let refused = engine.submit_json(command("r", None, false)).await.unwrap_err();
    assert_eq!(refused, SubmitError::Busy { operation: first });
    let second = engine.submit_json(command("r", None, true)).await.unwrap().id;
    let queued = stage.test_engine.inspect(second).await.shown.summary;
    assert_eq!((queued.phase, queued.due_at), (Phase::Pending, None));
    let one = stage.test_engine.finished(first).await.shown.summary;
    let two = stage.test_engine.finished(second).await.shown.summary;
    assert_eq!((one.phase, two.phase), (Phase::Succeeded, Phase::Succeeded));
    assert!(one.finished_at < two.finished_at);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_the_same_operation() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let first = engine.submit_json(command("r", Some("k"), false)).await.unwrap();
    let again = engine.submit_json(command("r", Some("k"), false)).await.unwrap();
    assert_eq!((again.id, again.repeated), (first.id, true));
    assert_eq!(
        engine.submit_json(command("other", Some("k"), false)).await.unwrap_err(),
        SubmitError::KeyReused
    );
    stage.test_engine.finished(first.id).await;
    let later = engine.submit_json(command("r", Some("k"), false)).await.unwrap();
    assert_eq!(later.id, first.id, "also after it is finished");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_known_is_refused_with_what_is() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let mut unknown = command("r", None, false);
    unknown.workflow = "test.nothing".into();
    let error = engine.submit_json(unknown).await.unwrap_err().to_string();
    assert_eq!(error, r#"there is no workflow "test.nothing"; known are test.script"#);
    let missing = engine::OperationId::first_at(engine::Timestamp(0));
    assert_eq!(engine.ask(missing, PhaseVerb::Cancel, "me", "").await.unwrap_err(), AskError::NotFound);
    for resource in ["", "a\nb", &"x".repeat(601)] {
        let error = engine.submit_json(command(resource, None, false)).await.unwrap_err().to_string();
        assert!(error.contains("resource must have 1 to 600 characters"), "{error}");
    }
}

/// The next heartbeat is half a second later than the end of the step.
#[tokio::test(start_paused = true)]
async fn a_request_for_a_running_operation_is_heard_at_the_end_of_its_step() {
    let stage = ScriptedEngine::new().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["slow"], "b": ["make"]})).await;
    tokio::time::sleep(Duration::from_millis(4800)).await;
    ask(&stage, id, PhaseVerb::Pause).await;
    let paused = stage.test_engine.until(id, |phase| phase == Phase::Paused || phase.is_final()).await;
    assert_eq!((paused.shown.summary.phase, stage.runs_of("b")), (Phase::Paused, 0));
    assert!(paused.memory.done.contains("a"), "what the step did is saved before the request");
    assert_eq!(paused.shown.summary.control, None, "what was dealt with is gone");
    assert_eq!(stage.test_engine.kinds(id).await, "created stepped asked");
}

#[tokio::test(start_paused = true)]
async fn a_new_round_begins_with_an_empty_state() {
    let stage = ScriptedEngine::new().await;
    let params = json!({"a": ["note"], "b": ["fail", "done"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    assert_eq!(stage.test_engine.finished(id).await.memory.state["notes"], 1);
    ask(&stage, id, PhaseVerb::Retry).await;
    let ended = stage.test_engine.until(id, |phase| phase == Phase::Succeeded).await;
    assert_eq!(ended.memory.state["notes"], 1, "what was taken back is not counted");
}

#[tokio::test(start_paused = true)]
async fn what_is_over_is_not_begun_again_while_another_operation_has_its_resource() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let fails = Command { params: json!({"a": ["fail"]}), ..command("r", None, false) };
    let first = engine.submit_json(fails).await.unwrap().id;
    stage.test_engine.finished(first).await;
    let second = engine.submit_json(command("r", None, false)).await.unwrap().id;
    let refused = engine.ask(first, PhaseVerb::Retry, "ops", "").await.unwrap_err();
    assert_eq!(refused, AskError::Busy { operation: second });
    stage.test_engine.finished(second).await;
    ask(&stage, first, PhaseVerb::Retry).await;
}

/// One request may reach a process with its claim and with a heartbeat.
#[tokio::test(start_paused = true)]
async fn a_request_is_in_the_journal_once() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["signal"], "b": ["slow"]})).await;
    stage.test_engine.until(id, WAITING).await;
    stage.test_engine.engine.signal("ready", json!(1)).await.unwrap();
    ask(&stage, id, PhaseVerb::Retry).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    let kinds = stage.test_engine.kinds(id).await;
    assert_eq!(kinds.matches("asked").count(), 1, "{kinds}");
}
