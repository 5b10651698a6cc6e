//! A database that is down, full or silent; a handler that panics; a caller that hangs up.

use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use serde_json::json;

use crate::shaky_store::Mood;
use crate::world::{ApiFixture, settings, sleeping_world_with, world, world_with};

fn letter() -> serde_json::Value {
    json!({"workflow": "test.letters", "params": {"then": "succeed"}})
}

const ID: &str = "018f0000-0000-7000-8000-000000000000";

/// Every call that needs the database, with a token that is remembered.
async fn all_answer(world: &ApiFixture, status: u16, code: &str) {
    let gets = [
        "",
        &format!("/{ID}"),
        &format!("/{ID}/journal"),
        &format!("/{ID}/events"),
        &format!("/{ID}/explain"),
    ]
    .map(|path| format!("/operations{path}"));
    for path in gets.iter().map(String::as_str).chain(["/tokens", "/audit"]) {
        let answer = world.get(path).await.is(status, code);
        if status == 503 {
            assert_eq!(answer.header("retry-after"), "1", "{path}");
        }
        assert!(!answer.text.contains("10.0.0.5") && !answer.text.contains("secret_plan"), "{}", answer.text);
    }
    world.post("/operations", letter()).await.is(status, code);
    world.post(&format!("/operations/{ID}/cancel"), json!({})).await.is(status, code);
    world.post("/signals/k", json!(1)).await.is(status, code);
    world.post("/tokens", json!({"name": "new", "role": "reader"})).await.is(status, code);
    world.call("DELETE", "/tokens/rita").token(&world.admin).send().await.is(status, code);
}

#[tokio::test]
async fn a_database_that_is_down_is_a_503_that_says_when_to_come_back() {
    let world = world().await;
    world.get("/workflows").await;
    world.store.be(Mood::Down);
    all_answer(&world, 503, "database-unavailable").await;
    world.store.be(Mood::Full);
    all_answer(&world, 503, "database-full").await;
    world.store.be(Mood::Refusing);
    all_answer(&world, 500, "internal").await;
    world.store.be(Mood::Well);
    assert_eq!(world.post("/operations", letter()).await.status, 202);
}

#[tokio::test]
async fn a_database_that_is_down_says_nothing_about_a_token() {
    let world = world().await;
    world.store.be(Mood::Down);
    let outsider = format!("pe_{}", "A".repeat(43));
    for token in [&world.admin, &outsider] {
        let answer =
            world.call("GET", "/workflows").token(token).send().await.is(503, "database-unavailable");
        assert_eq!(answer.header("retry-after"), "1");
    }
    world.call("GET", "/workflows").send().await.is(401, "unauthenticated");
}

#[tokio::test]
async fn a_database_that_is_silent_costs_no_more_than_the_time_that_is_allowed() {
    let world =
        world_with(server::ServerSettings { request_timeout: Duration::from_millis(30), ..settings() }).await;
    world.get("/workflows").await;
    world.store.be(Mood::Silent);
    world.get("/operations").await.is(504, "timeout");
    world.post("/operations", letter()).await.is(504, "timeout");
    world.call("GET", "/workflows").token(&world.reader).send().await.is(503, "database-unavailable");
    world.call("GET", "/readyz").send().await.is(503, "not-ready");
    assert_eq!(world.call("GET", "/healthz").send().await.status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends_is_the_fault_of_the_client() {
    let world =
        world_with(server::ServerSettings { request_timeout: Duration::from_millis(100), ..settings() })
            .await;
    let body = Body::from_stream(stream::pending::<Result<String, std::io::Error>>());
    let call =
        world.call("POST", "/operations").token(&world.admin).header("content-type", "application/json");
    call.body(body).send().await.is(408, "slow-body");
}

#[tokio::test]
async fn readiness_tells_the_truth_about_the_database_and_the_lease() {
    let world = world().await;
    let ready = || world.call("GET", "/readyz").send();
    assert_eq!(ready().await.json, json!({"status": "ready"}));
    world.store.be(Mood::Down);
    let answer = ready().await.is(503, "not-ready");
    assert!(answer.json["detail"].as_str().unwrap().contains("not answering"), "{}", answer.text);
    assert_eq!(world.call("GET", "/healthz").send().await.json, json!({"status": "alive"}));
    world.store.be(Mood::Well);
    assert_eq!(ready().await.status, 200);
    let asleep = sleeping_world_with(settings()).await;
    let answer = asleep.call("GET", "/readyz").send().await.is(503, "not-ready");
    assert!(answer.json["detail"].as_str().unwrap().contains("lease"), "{}", answer.text);
}

#[tokio::test]
async fn what_was_accepted_is_answered_even_if_it_cannot_be_read_back() {
    let world = world().await;
    world.get("/workflows").await;
    world.store.be(Mood::WriteOnly);
    let answer = world.post("/operations", letter()).await;
    assert_eq!((answer.status, &answer.json["phase"]), (202, &json!("pending")));
    world.store.be(Mood::Well);
    world.until(answer.json["id"].as_str().unwrap(), "succeeded").await;
}

#[tokio::test]
async fn a_panic_is_a_500_that_says_nothing_and_is_written_down() {
    let world = world().await;
    let body = json!({"workflow": "test.letters", "params": {"then": "panic"}});
    let answer = world.post("/operations", body).await.is(500, "internal");
    assert!(!answer.text.contains("very secret"), "{}", answer.text);
    let audit = world.get("/audit").await.json;
    assert_eq!(audit["items"][0]["result"], "500 internal");
    assert_eq!(world.post("/operations", letter()).await.status, 202, "the server goes on");
}

#[tokio::test]
async fn a_change_is_carried_to_its_end_when_the_caller_hangs_up() {
    let world = world().await;
    let call = world.call("POST", "/operations").token(&world.admin).json(&letter());
    let mut request = Box::pin(call.open());
    // The request is begun and then dropped, as a server does when the connection is gone.
    let begun = futures_util::poll!(request.as_mut());
    assert!(begun.is_pending());
    drop(request);
    for _ in 0..200 {
        let items = world.get("/operations?phase=succeeded").await.json;
        if items["items"].as_array().unwrap().len() == 1 {
            let audit = world.get("/audit").await.json;
            assert_eq!(audit["items"][0]["action"], "operation.submit");
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the operation was lost");
}
