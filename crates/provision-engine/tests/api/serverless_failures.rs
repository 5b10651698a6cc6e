//! What devices are told when something takes too long, goes away or breaks.

use std::time::Duration;

use engine::AccessStore;
use serde_json::json;

use crate::serverless_lives::over;
use crate::serverless_world::{
    FixtureOptions, RUNTIMES, ServerlessFixture, ServerlessResponse, function, nebula, nebula_with, runtime,
};
use crate::shaky_store::Mood;

/// An API that waits for two seconds.
async fn impatient() -> ServerlessFixture {
    let mut controls = FixtureOptions { grace: Duration::ZERO, ..FixtureOptions::default() };
    controls.settings.timeout = Duration::from_secs(2);
    controls.settings.settle = Duration::from_millis(200);
    nebula_with(controls).await
}

/// The path of the operation at the end of a message.
fn operation(answer: &ServerlessResponse) -> String {
    let message = answer.json["message"].as_str().unwrap();
    let path = message.split(' ').next_back().unwrap();
    assert!(path.starts_with("/serverless-runtimes/operations/"), "{message}");
    path.to_owned()
}

#[tokio::test]
async fn a_removal_that_takes_long_is_not_called_done_and_goes_on() {
    let world = impatient().await;
    let id = world.running(&function("Function")).await;
    world.tell("/opennebula/pace", &json!({"terminate_ms": 4_000})).await;
    let late = world.delete(id).await;
    late.is(504, "Serverless Runtime is still being deleted");
    assert!(late.json["message"].as_str().unwrap().contains("continues"), "{}", late.text);
    assert!(!world.standing().await.is_empty());
    world.get(id).await.is(404, "Serverless Runtime not found");
    let rows = world.store.audit_log(1).await.unwrap();
    assert_eq!((rows[0].action.as_str(), rows[0].result.as_str()), ("serverless.delete", "504"));
    let over = over(&world, &operation(&late)).await;
    assert_eq!((&over["STATE"], &over["STATUS"]), (&json!("SUCCEEDED"), &json!(204)), "{over}");
    assert!(world.standing().await.is_empty());
}

#[tokio::test]
async fn a_passing_error_is_not_told_as_the_end() {
    let world = impatient().await;
    let id = world.running(&function("Function")).await;
    let away = json!({"system": "oneflow", "kind": "error", "status": 503, "times": 0});
    world.tell("/faults", &away).await;
    let late = world.delete(id).await;
    late.is(504, "Serverless Runtime is still being deleted");
    assert!(!late.text.contains("503"), "{}", late.text);
    world.no_faults().await;
    world.is_empty_soon().await;
}

#[tokio::test]
async fn an_update_that_is_being_undone_says_so() {
    let world = impatient().await;
    let body = runtime(json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}}));
    let id = world.running(&body).await;
    world.until_all(id, "RUNNING").await;
    world.tell("/opennebula/faults", &json!({"kind": "resize_refused_quota", "about": "DAAS"})).await;
    world.tell("/opennebula/pace", &json!({"resize_ms": 1_500})).await;
    let larger = runtime(json!({"FAAS": {"FLAVOUR": "", "CPU": 2}, "DAAS": {"FLAVOUR": "", "CPU": 2}}));
    let late = world.put(id, &larger).await;
    late.is(504, "Serverless Runtime is stuck while it is updated");
    let message = late.json["message"].as_str().unwrap();
    assert!(message.contains("is being undone: Failed to resize"), "{message}");
    let over = over(&world, &operation(&late)).await;
    assert_eq!(over["STATE"], "FAILED", "{over}");
    let faas = &world.get(id).await.json["SERVERLESS_RUNTIME"]["FAAS"];
    assert_eq!(faas["CPU"], 1, "{faas}");
}

#[tokio::test]
async fn a_runtime_that_no_one_makes_in_time_is_not_made_at_all() {
    let mut controls =
        FixtureOptions { works: false, grace: Duration::from_millis(50), ..FixtureOptions::default() };
    controls.settings.timeout = Duration::from_millis(50);
    let world = nebula_with(controls).await;
    let answer = world.post(&function("Function")).await;
    assert_eq!(answer.status, 504, "{}", answer.text);
    let path = answer.json["message"].as_str().unwrap().split(' ').next_back().unwrap();
    world.engine.start(None).await.unwrap();
    let operation = over(&world, path).await;
    assert_eq!(operation["STATE"], "FAILED", "{operation}");
    world.is_empty_soon().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_changes_nothing() {
    let world = nebula().await;
    world
        .tell("/faults", &json!({"system": "oneflow", "kind": "latency", "latency_ms": 200, "times": 1}))
        .await;
    let body = function("Function");
    let call = world.post(&body);
    assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
    for _ in 0..1000 {
        let answer = world.ask("GET", RUNTIMES).send().await;
        if answer.json["SERVERLESS_RUNTIMES"][0]["SERVICE_ID"].is_i64() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the runtime was never made");
}

#[tokio::test]
async fn an_external_system_that_is_away_is_not_the_callers_fault() {
    let world = nebula().await;
    let id = world.made(&function("Function")).await;
    let rows = world.rows().await;
    for system in ["oned", "oneflow"] {
        world.tell("/faults", &json!({"system": system, "kind": "drop_before", "times": 0})).await;
    }
    for answer in [world.get(id).await, world.post(&function("Function")).await, world.delete(id).await] {
        assert_eq!(answer.status, 503, "{}", answer.text);
    }
    assert_eq!(world.rows().await, rows);
}

#[tokio::test]
async fn a_database_that_is_away_is_said_and_shown_runtimes_do_not_need_it() {
    let world = nebula().await;
    let id = world.made(&function("Function")).await;
    for (mood, status) in [(Mood::Down, 503), (Mood::Full, 503), (Mood::Refusing, 500)] {
        world.store.be(mood);
        let refused = [world.post(&function("Function")).await, world.delete(id).await];
        assert_eq!(world.get(id).await.status, 200);
        world.store.be(Mood::Well);
        for answer in refused {
            assert_eq!(answer.status, status, "{mood:?}: {}", answer.text);
            assert!(
                !answer.text.contains("10.0.0.5") && !answer.text.contains("secret_plan"),
                "{}",
                answer.text
            );
        }
    }
    assert_eq!(world.delete(id).await.status, 204);
    world.is_empty_soon().await;
}

#[tokio::test]
async fn the_one_who_waits_is_told_when_the_engine_stops() {
    let world = nebula_with(FixtureOptions { works: false, ..FixtureOptions::default() }).await;
    let body = function("Function");
    let (answer, ()) = tokio::join!(world.post(&body), async {
        while world.rows().await.0 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        world.closing.cancel();
    });
    answer.is(503, "Service unavailable");
    assert!(answer.json["message"].as_str().unwrap().contains("/serverless-runtimes/operations/"));
}
