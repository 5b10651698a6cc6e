//! Cancel, pause, resume and retry.

use serde_json::json;

use crate::world::world;

#[tokio::test]
async fn an_operation_is_paused_resumed_and_cancelled() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let ask = |verb: &str, body| {
        world.call("POST", &format!("/operations/{id}/{verb}")).token(&world.operator).json(&body).send()
    };
    let paused = ask("pause", json!({"reason": "lunch"})).await;
    assert_eq!((paused.status, &paused.json["id"]), (202, &json!(id)));
    world.until(&id, "paused").await;
    let again = ask("pause", json!({})).await.is(409, "not-now");
    assert_eq!((&again.json["phase"], &again.json["operation"]), (&json!("paused"), &json!(id)));
    assert_eq!(again.json["possible"], json!(["cancel", "resume"]));
    assert_eq!(ask("resume", json!({"reason": null})).await.status, 202);
    world.until(&id, "waiting").await;
    assert_eq!(ask("retry", json!({})).await.status, 202);
    world.until(&id, "waiting").await;
    assert_eq!(ask("cancel", json!({"reason": "no longer needed"})).await.status, 202);
    let shown = world.until(&id, "cancelled").await;
    assert_eq!(shown["cause"], "cancelled by oscar: no longer needed");
    let late = ask("cancel", json!({})).await.is(409, "not-now");
    assert_eq!(late.json["possible"], json!(["retry"]));
    let journal = world.get(&format!("/operations/{id}/journal")).await;
    assert!(journal.text.contains("oscar requested pause: lunch"), "{}", journal.text);
}

#[tokio::test]
async fn a_finished_operation_starts_again_unless_its_resource_is_taken() {
    let world = world().await;
    let submit = |then: &str| {
        let body =
            json!({"workflow": "test.letters", "resource": "desk", "params": {"then": then, "key": "k"}});
        world.call("POST", "/operations").token(&world.admin).json(&body).send()
    };
    let failed = submit("fail").await.json["id"].as_str().unwrap().to_owned();
    world.until(&failed, "undone").await;
    let path = format!("/operations/{failed}/retry");
    let retried = world.call("POST", &path).token(&world.operator).send().await;
    assert_eq!(retried.status, 202);
    world.until(&failed, "undone").await;
    let holder = submit("wait").await.json["id"].as_str().unwrap().to_owned();
    let busy = world.call("POST", &path).token(&world.operator).send().await.is(409, "resource-busy");
    assert_eq!(busy.json["operation"], json!(holder));
}

#[tokio::test]
async fn a_reason_may_be_left_out_but_not_be_nonsense() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let ask = || world.call("POST", &format!("/operations/{id}/cancel")).token(&world.operator);
    for (body, code) in [
        (json!({"reason": "x".repeat(501)}), "invalid-body"),
        (json!({"reason": "a\u{0}b"}), "invalid-body"),
        (json!({"reason": 7}), "invalid-body"),
        (json!({"why": "because"}), "invalid-body"),
        (json!([]), "invalid-body"),
    ] {
        ask().json(&body).send().await.is(400, code);
    }
    ask().body("because").send().await.is(415, "unsupported-media-type");
    ask().header("content-type", "application/json").body("{").send().await.is(400, "malformed-json");
    assert_eq!(ask().json(&json!(null)).send().await.status, 202);
}
