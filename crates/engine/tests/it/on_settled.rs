//! The record of a resource says how its operation came to rest, and forgets what only the operation needed.

use engine::store::{Expect, Store};
use engine::{Command, OnFailure, Phase, PhaseVerb, RecordWrites};
use serde_json::{Value, json};

use crate::scripted::{Props, ScriptedEngine, record_update};

const NAME: &str = "script:1";

async fn end(params: Value, cancels: bool) -> (Phase, String, bool) {
    end_with(OnFailure::Unwind, params, cancels).await
}

async fn end_with(on_failure: OnFailure, params: Value, cancels: bool) -> (Phase, String, bool) {
    let stage = ScriptedEngine::with(&Props { on_failure, ..Props::default() }).await;
    let command = Command {
        name: None,
        workflow: "test.script".into(),
        tenant: "t".into(),
        resource: Some(NAME.into()),
        params,
        by: "t".into(),
        idempotency_key: None,
        queue: false,
    };
    let subject = Some((Expect::Absent, Some(record_update("a secret", None))));
    let along = RecordWrites { subject, ..RecordWrites::default() };
    let id = stage.test_engine.engine.accept(command, along).await.unwrap().id;
    let before = stage.store.resource(NAME).await.unwrap().unwrap();
    assert_eq!(before.record, "\"a secret\"");
    if cancels {
        stage.test_engine.engine.ask(id, PhaseVerb::Cancel, "t", "").await.unwrap();
    }
    let rests = |phase: Phase| phase.is_final() || phase == Phase::Stuck;
    let phase = stage.test_engine.until(id, rests).await.shown.summary.phase;
    let row = stage.store.resource(NAME).await.unwrap().unwrap();
    (phase, row.record, row.gone_at.is_some())
}

#[tokio::test(start_paused = true)]
async fn the_record_says_what_the_workflow_says_at_the_end() {
    let said = |text: &str| format!("{text:?}");
    let done = end(json!({"a": ["make"], "parts": true}), false).await;
    assert_eq!(done, (Phase::Succeeded, said("succeeded nowhere"), true));
    let undone = end(json!({"a": ["make"], "b": ["fail"], "parts": true}), false).await;
    assert_eq!(undone, (Phase::Undone, said("undone b"), true));
    let cancelled = end(json!({"a": ["make"], "b": ["signal"], "parts": true}), true).await;
    assert_eq!(cancelled, (Phase::Cancelled, said("cancelled nowhere"), true));
    let left = end_with(OnFailure::Leave, json!({"a": ["make"], "b": ["fail"], "parts": true}), false).await;
    assert_eq!(left, (Phase::Failed, said("failed b"), true));
}

#[tokio::test(start_paused = true)]
async fn the_record_also_learns_that_an_operation_is_stuck() {
    let stuck = end(json!({"a": ["make"], "b": ["fail"], "undo": ["fail"], "parts": true}), false).await;
    assert_eq!((stuck.0, stuck.2), (Phase::Stuck, false), "{}", stuck.1);
    assert!(stuck.1.starts_with("\"stuck "), "{}", stuck.1);
}

#[tokio::test(start_paused = true)]
async fn a_workflow_without_a_the_end_leaves_the_record() {
    let done = end(json!({"a": ["make"]}), false).await;
    assert_eq!(done, (Phase::Succeeded, "\"a secret\"".to_owned(), false));
}
