//! What each answer of a step leads to.

use std::time::Duration;

use engine::store::{OperationQuery, Store};
use engine::{Effect, OnFailure, Phase};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::scripted::{Props, ScriptedEngine};

#[track_caller]
fn script(a: &[&str], b: &[&str], c: &[&str]) -> Value {
    json!({"a": a, "b": b, "c": c})
}

/// Runs a script to its end: phase, journal, what stands in the world.
async fn play(stage: &ScriptedEngine, params: Value) -> (Phase, String, usize) {
    let id = stage.test_engine.submit("test.script", None, params).await;
    let ended = stage.test_engine.until(id, |phase| phase.is_final() || phase == Phase::Stuck).await;
    (ended.shown.summary.phase, stage.test_engine.kinds(id).await, stage.world.standing().len())
}

#[tokio::test(start_paused = true)]
async fn three_steps_that_are_done_make_a_success_with_one_event_per_step() {
    let stage = ScriptedEngine::new().await;
    let (phase, kinds, standing) = play(&stage, script(&["make"], &["make"], &["make"])).await;
    assert_eq!((phase, standing), (Phase::Succeeded, 3));
    // The first event announces a, the next ones say "done, and the next one starts", the last one ends it.
    assert_eq!(kinds, "created stepped stepped finished");
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_condition_does_not_hold_is_not_started() {
    let stage = ScriptedEngine::with(&Props { leaves_out_b: true, ..Props::default() }).await;
    let (phase, _, standing) = play(&stage, script(&["make"], &["make"], &["make"])).await;
    assert_eq!((phase, standing, stage.runs_of("b")), (Phase::Succeeded, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn pure_steps_that_learn_nothing_cost_no_event() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Pure, ..Props::default() }).await;
    let (phase, kinds, _) = play(&stage, script(&["done"], &["done"], &["note"])).await;
    assert_eq!((phase, kinds.as_str()), (Phase::Succeeded, "created finished"));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_polls_add_no_hundred_events() {
    let stage = ScriptedEngine::new().await;
    let mut b = vec!["wait"; 100];
    b.push("done");
    let (phase, kinds, _) = play(&stage, script(&["make"], &b, &["make"])).await;
    assert_eq!(phase, Phase::Succeeded);
    assert_eq!(kinds, "created stepped waited stepped finished");
    assert_eq!(stage.runs_of("a"), 101, "every pass begins at the first step");
    assert_eq!(stage.world.standing().len(), 2, "and steps that ran again made nothing new");
}

#[tokio::test(start_paused = true)]
async fn a_retry_spends_a_saved_budget_and_then_fails_and_is_undone() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &["retry"], &[])).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    let error = ended.memory.last_error.unwrap();
    assert_eq!(error.step, "b");
    assert!(error.cause.as_str().starts_with("gave up after"), "{}", error.cause);
    assert!(stage.runs_of("b") > 10, "{}", stage.runs_of("b"));
    assert!(stage.world.standing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_step_that_heals_has_its_budget_again() {
    let stage = ScriptedEngine::new().await;
    let id = stage
        .test_engine
        .submit("test.script", None, script(&["make"], &["retry", "retry", "make"], &[]))
        .await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert!(ended.memory.budgets.is_empty());
    assert_eq!(ended.memory.last_error.unwrap().cause.as_str(), "not today");
}

#[tokio::test(start_paused = true)]
async fn a_failure_undoes_every_started_step_in_reverse_order() {
    let stage = ScriptedEngine::new().await;
    let (phase, kinds, standing) = play(&stage, script(&["make"], &["make"], &["make_and_fail"])).await;
    assert_eq!((phase, standing), (Phase::Undone, 0));
    assert_eq!(kinds, "created stepped stepped turned stepped stepped finished");
    let order: Vec<String> = stage.tally.seen().into_iter().filter(|seen| seen.starts_with("undo")).collect();
    let order: Vec<&str> = order.iter().map(|seen| &seen[seen.len() - 1..]).collect();
    assert_eq!(order, ["c", "b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn steps_that_never_started_are_not_undone() {
    let stage = ScriptedEngine::new().await;
    let (phase, _, _) = play(&stage, script(&["make"], &["fail"], &["make"])).await;
    assert_eq!(phase, Phase::Undone);
    assert!(!stage.tally.seen().iter().any(|seen| seen.starts_with("undo") && seen.ends_with(":c")));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_leaves_leaves() {
    let stage = ScriptedEngine::with(&Props { on_failure: OnFailure::Leave, ..Props::default() }).await;
    let (phase, kinds, standing) = play(&stage, script(&["make"], &["fail"], &[])).await;
    assert_eq!((phase, standing), (Phase::Failed, 1));
    assert_eq!(kinds, "created stepped finished");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_with_its_message() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &["panic"], &[])).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    assert_eq!(ended.memory.last_error.unwrap().cause.as_str(), "the step panicked: boom");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_hangs_is_given_up_and_tried_again() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &["hang", "make"], &[])).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!(ended.memory.last_error.unwrap().cause.as_str(), "no answer within 60s");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_must_not_run_twice_and_hangs_waits_for_a_person() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Once, ..Props::default() }).await;
    let (phase, kinds, _) = play(&stage, script(&["make"], &["hang"], &[])).await;
    assert_eq!((phase, kinds.as_str()), (Phase::Stuck, "created stepped stepped stuck"));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_wait_and_says_for_what_it_was() {
    let stage = ScriptedEngine::new().await;
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &["wait"], &[])).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    let cause = ended.memory.undo_reason.unwrap().cause;
    assert_eq!(cause.as_str(), "the deadline of 3600s passed while it waited: the world needs time");
    let took = ended.shown.summary.finished_at.unwrap().since(ended.shown.summary.created_at);
    assert!(took < Duration::from_secs(3602), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_undo_that_cannot_finish_is_stuck_with_what_is_left_over() {
    let stage = ScriptedEngine::new().await;
    let mut params = script(&["make"], &["make"], &["fail"]);
    // The undo of c and of b succeed; that of a fails for good.
    params["undo"] = json!(["fail"]);
    let id = stage.test_engine.submit("test.script", None, params).await;
    let ended = stage.test_engine.until(id, |phase| phase == Phase::Stuck).await;
    let stuck = ended.memory.stuck.unwrap();
    assert_eq!((stuck.step.as_str(), stuck.left_over), ("c", vec!["a".into(), "b".into(), "c".into()]));
    assert_eq!(ended.shown.summary.reason.as_deref(), Some("no way"));
}

#[tokio::test(start_paused = true)]
async fn a_skipped_clean_up_does_not_stop_the_others_and_is_started_again_until_clean() {
    let stage = ScriptedEngine::with(&Props { is_clean_up: true, ..Props::default() }).await;
    let id = stage
        .test_engine
        .submit("test.script", None, script(&["make"], &["fail", "fail", "make"], &["make"]))
        .await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!(ended.memory.retriggers, 2);
    assert!(ended.memory.skipped.is_empty());
    assert_eq!(stage.world.standing().len(), 3);
    let took = ended.shown.summary.finished_at.unwrap().since(ended.shown.summary.created_at);
    assert!(took >= Duration::from_secs(120), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_clean_up_that_never_succeeds_ends_with_a_person() {
    let stage = ScriptedEngine::with(&Props { is_clean_up: true, ..Props::default() }).await;
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &["fail"], &["make"])).await;
    let ended = stage.test_engine.until(id, |phase| phase == Phase::Stuck).await;
    assert_eq!((ended.memory.stuck.unwrap().left_over, ended.memory.retriggers), (vec!["b".to_owned()], 3));
    assert_eq!(stage.world.standing().len(), 2, "the steps after the skipped one did run");
}

#[tokio::test(start_paused = true)]
async fn state_is_saved_when_it_changes_and_only_then() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Pure, ..Props::default() }).await;
    let id = stage
        .test_engine
        .submit("test.script", None, script(&["note", "done"], &["wait", "done"], &["note"]))
        .await;
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.memory.state["notes"], 2);
    assert_eq!(stage.test_engine.kinds(id).await, "created waited finished");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_waiting_operations_are_rows_and_nothing_else() {
    let stage = ScriptedEngine::new().await;
    for _ in 0..1000 {
        stage.test_engine.submit("test.script", None, script(&["make"], &["signal"], &["make"])).await;
    }
    let waiting = OperationQuery { phases: vec![Phase::Waiting], limit: 2000, ..OperationQuery::default() };
    TestEngine::eventually(async || stage.store.list(&waiting).await.unwrap().len() == 1000).await;
    assert_eq!(stage.test_engine.engine.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_clean_up_that_is_resumed_after_its_deadline_still_cleans_up() {
    let stage = ScriptedEngine::with(&Props { is_clean_up: true, ..Props::default() }).await;
    let mut b = vec!["fail"; 4];
    b.push("make");
    let id = stage.test_engine.submit("test.script", None, script(&["make"], &b, &["make"])).await;
    stage.test_engine.until(id, |phase| phase == Phase::Stuck).await;
    tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
    stage.test_engine.engine.ask(id, engine::PhaseVerb::Resume, "ops", "").await.unwrap();
    let ended = stage.test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(stage.world.standing().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_in_the_journal_once_for_each_reason_and_in_the_row_with_its_step() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Pure, ..Props::default() }).await;
    let id =
        stage.test_engine.submit("test.script", None, script(&[], &["wait", "wait", "signal"], &[])).await;
    let waiting = stage.test_engine.until(id, |phase| phase == Phase::Waiting).await;
    assert_eq!(waiting.shown.summary.step.as_deref(), Some("b"));
    assert_eq!(waiting.shown.memory_seq, waiting.seq, "the row has the memory: no journal is read for it");
    let due_at = waiting.shown.summary.due_at.unwrap();
    assert_eq!(due_at.since(waiting.shown.summary.created_at), Duration::from_secs(10));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.test_engine.kinds(id).await, "created waited waited");
    let waiting = stage.test_engine.inspect(id).await;
    assert_eq!(waiting.memory.wait.unwrap().reason, "no callback has come yet");
}

/// A step may have to try again although it was done in an earlier pass.
#[tokio::test(start_paused = true)]
async fn a_step_that_was_done_before_and_heals_has_its_budget_again_and_waits_no_longer() {
    let stage = ScriptedEngine::new().await;
    let b = ["wait", "wait", "wait", "signal"];
    let params = script(&["done", "retry", "done", "wait", "done"], &b, &[]);
    let id = stage.test_engine.submit("test.script", None, params).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let waiting = stage.test_engine.inspect(id).await;
    assert_eq!(waiting.memory.last_error.unwrap().step, "a");
    assert!(waiting.memory.budgets.is_empty(), "{:?}", waiting.memory.budgets);
    assert_eq!(waiting.memory.wait.unwrap().step, "b");
    assert!(waiting.memory.done.contains("a"));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_must_not_run_twice_is_announced_before_every_run() {
    let stage = ScriptedEngine::with(&Props { effect: Effect::Once, ..Props::default() }).await;
    let (phase, kinds, _) = play(&stage, script(&["done"], &["wait", "done"], &["done"])).await;
    assert_eq!(phase, Phase::Succeeded);
    assert_eq!(kinds, "created stepped stepped waited stepped stepped stepped finished");
}

#[tokio::test(start_paused = true)]
async fn the_row_says_that_an_operation_goes_back_as_soon_as_it_does() {
    let stage = ScriptedEngine::new().await;
    let params = json!({"a": ["make"], "b": ["fail"], "undo": ["slow", "done"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    let going_back = stage.test_engine.until(id, |phase| phase == Phase::Undoing).await;
    let took = stage.test_engine.engine.now().since(going_back.shown.summary.created_at);
    assert!(took < Duration::from_secs(5), "the first undo takes five seconds: {took:?}");
}
