//! How many signals of one operation are kept. The token with which services send them is handed out with every call.

use serde_json::json;

use crate::workflows::put_of;
use crate::world::{ApiFixture, world};

async fn submitted(world: &ApiFixture, team: &str) -> String {
    let body = json!({"workflow": "acme.database", "params": {"team": team}});
    let begun = world.post("/operations", body).await;
    assert_eq!(begun.status, 202, "{}", begun.text);
    begun.json["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_operation_keeps_a_limited_number_of_unread_signals() {
    let world = world().await;
    put_of(&world, "acme.database").await;
    let (full, other) = (submitted(&world, "red").await, submitted(&world, "blue").await);
    let signal = async |id: &str, key: &str| {
        let path = format!("/operations/{id}/signals/{key}");
        world.call("POST", &path).token(&world.operator).json(&json!({"n": 1})).send().await
    };
    for n in 0..100 {
        assert_eq!(signal(&full, &format!("key-{n}")).await.status, 202, "{n}");
    }
    let refused = signal(&full, "one-more").await.is(409, "too-many-signals");
    for part in ["100 signals", "700 bytes", "a key that a step waits for"] {
        assert!(refused.text.contains(part), "{part}: {}", refused.text);
    }
    assert_eq!(signal(&full, "key-7").await.status, 202, "it replaces one");
    assert_eq!(signal(&other, "one-more").await.status, 202, "it is another operation");
}

#[tokio::test]
async fn unread_signals_of_an_operation_have_a_limited_size() {
    let world = world().await;
    put_of(&world, "acme.database").await;
    let id = submitted(&world, "red").await;
    let body = json!("x".repeat(64 * 1024 - 2));
    let signal = async |n: usize| {
        let path = format!("/operations/{id}/signals/key-{n}");
        world.call("POST", &path).token(&world.operator).json(&body).send().await
    };
    for n in 0..16 {
        assert_eq!(signal(n).await.status, 202, "{n}");
    }
    signal(16).await.is(409, "too-many-signals");
    assert_eq!(signal(3).await.status, 202, "it replaces one of the same size");
}

/// Every client can send a text that looks like the token of an operation.
#[tokio::test]
async fn a_signal_token_that_opens_nothing_leaves_no_row_in_the_audit_log() {
    let world = world().await;
    put_of(&world, "acme.database").await;
    let (id, unknown) = (submitted(&world, "red").await, "0190d3f5-b7c6-7d1e-8f00-a1b2c3d4e5f6");
    let before = world.get("/audit").await.json["items"].clone();
    let large = "x".repeat(70 * 1024);
    for (path, body, status) in [
        (format!("/operations/{id}/signals/go"), "1", 401),
        (format!("/operations/{unknown}/signals/go"), "1", 401),
        (format!("/operations/{id}/signals/a%00b"), "1", 401),
        (format!("/operations/{id}/signals/go"), large.as_str(), 401),
        (format!("/operations/{id}/signals/go"), "{", 401),
        ("/operations/none/signals/go".to_owned(), "1", 400),
    ] {
        let call =
            world.call("POST", &path).token("sealed:1:k1:AAAA").header("content-type", "application/json");
        let answer = call.body(body.to_owned()).send().await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
    }
    assert_eq!(world.get("/audit").await.json["items"], before);
}
