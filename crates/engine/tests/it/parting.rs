//! What an operation kept in the record of its resource for its own use is gone with it, however it ends.

use engine::store::Expect;
use engine::{Alongside, Command, Phase, Verb};
use serde_json::{Value, json};

use crate::scripted::{Stage, portrait};

const NAME: &str = "script:1";

async fn end(params: Value, cancels: bool) -> (Phase, String, bool) {
    let stage = Stage::new().await;
    let command = Command {
        workflow: "test.script".into(),
        tenant: "t".into(),
        resource: Some(NAME.into()),
        params,
        by: "t".into(),
        idempotency_key: None,
        queue: false,
    };
    let subject = Some((Expect::Absent, Some(portrait("a secret", None))));
    let along = Alongside { subject, ..Alongside::default() };
    let id = stage.house.engine.accept(command, along).await.unwrap().id;
    let before = stage.store.resource(NAME).await.unwrap().unwrap();
    assert_eq!(before.record, "\"a secret\"");
    if cancels {
        stage.house.engine.ask(id, Verb::Cancel, "t", "").await.unwrap();
    }
    let phase = stage.house.finished(id).await.shown.summary.phase;
    let row = stage.store.resource(NAME).await.unwrap().unwrap();
    (phase, row.record, row.gone_at.is_some())
}

#[tokio::test(start_paused = true)]
async fn the_record_says_what_the_workflow_says_at_parting() {
    let nothing = || "\"nothing\"".to_owned();
    let done = end(json!({"a": ["make"], "parts": true}), false).await;
    assert_eq!(done, (Phase::Succeeded, nothing(), true));
    let undone = end(json!({"a": ["make"], "b": ["fail"], "parts": true}), false).await;
    assert_eq!(undone, (Phase::Undone, nothing(), true));
    let cancelled = end(json!({"a": ["make"], "b": ["signal"], "parts": true}), true).await;
    assert_eq!(cancelled, (Phase::Cancelled, nothing(), true));
}

#[tokio::test(start_paused = true)]
async fn a_workflow_without_a_parting_leaves_the_record() {
    let done = end(json!({"a": ["make"]}), false).await;
    assert_eq!(done, (Phase::Succeeded, "\"a secret\"".to_owned(), false));
}
