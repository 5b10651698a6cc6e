//! Why an operation is not finished.

use api::types::Explanation;
use serde_json::json;

use crate::world::{ApiFixture, settings, sleeping_world_with, world};

async fn explain(world: &ApiFixture, id: &str) -> Explanation {
    let answer = world.call("GET", &format!("/operations/{id}/explain")).token(&world.reader).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_value(answer.json).unwrap()
}

#[tokio::test]
async fn a_wait_a_retry_and_an_end_are_explained() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "bell"}), "waiting").await;
    let told = explain(&world, &id).await;
    assert!(told.reason.starts_with("post waits for the signal bell until "), "{}", told.reason);
    assert_eq!(
        (told.blocking_step.as_deref(), told.title.as_deref()),
        (Some("post"), Some("Posting the letter"))
    );
    assert_eq!(told.waiting_for_key.as_deref(), Some("bell"));

    let id = world.run_until(json!({"then": "retry"}), "waiting").await;
    let told = explain(&world, &id).await;
    assert_eq!(told.attempt, Some(1));
    assert_eq!(told.last_error.unwrap().cause, "no answer from <b>the external system</b>");

    let id = world.run_until(json!({"then": "fail"}), "undone").await;
    let told = explain(&world, &id).await;
    assert!(told.reason.ends_with("undone: the quota of letters is used up"), "{}", told.reason);
    assert_eq!(told.what_you_can_do[0], format!("`provision-engine operations retry {id}` starts it again"));

    let id = world.run_until(json!({"then": "stick"}), "stuck").await;
    let told = explain(&world, &id).await;
    assert_eq!(told.reason, "it is stuck and needs an operator: the bin is full");
    assert_eq!((told.blocking_step.as_deref(), told.left_over), (Some("write"), vec!["write".to_owned()]));
}

#[tokio::test]
async fn a_paused_operation_names_who_paused_it() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "bell"}), "waiting").await;
    let pause = world.call("POST", &format!("/operations/{id}/pause")).token(&world.operator);
    pause.json(&json!({"reason": "lunch"})).send().await;
    world.until(&id, "paused").await;
    let reason = explain(&world, &id).await.reason;
    assert!(reason.starts_with("oscar paused it at ") && reason.ends_with(": lunch"), "{reason}");
}

#[tokio::test]
async fn an_operation_that_queues_names_the_one_before_it() {
    let world = world().await;
    let submit = async || {
        let body = json!({"workflow": "test.letters", "resource": "desk", "queue": true,
                          "params": {"then": "wait", "key": "k"}});
        world.post("/operations", body).await.json["id"].as_str().unwrap().to_owned()
    };
    let first = submit().await;
    world.until(&first, "waiting").await;
    let (second, third) = (submit().await, submit().await);
    for queued in [second, third] {
        let told = explain(&world, &queued).await;
        assert_eq!(told.queued_behind.map(|id| id.to_string()), Some(first.clone()));
        assert_eq!(told.reason, format!("queued until operation {first} on the same resource has finished"));
    }
}

#[tokio::test]
async fn an_operation_that_no_node_takes_says_so() {
    let world = sleeping_world_with(settings()).await;
    let id = world.submit(json!({"then": "succeed"})).await;
    let told = explain(&world, &id).await;
    assert!(told.reason.starts_with("it has been due since "), "{}", told.reason);
    assert!(told.reason.ends_with("and no node has taken it yet"), "{}", told.reason);
}
