//! Each answer of a service and what it leads to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::store::MemoryStore;
use engine::{Inspection, OperationId, Phase, WallClock, masked};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::service::{Instead, StepService, declaration, declare, plan, world};

async fn open(service: &StepService) -> TestEngine {
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    TestEngine::open(builder.workflow(plan(service)), None).await
}

async fn submit(test_engine: &TestEngine) -> OperationId {
    test_engine.submit("acme.database", None, json!({"team": "red", "password": "hunter2"})).await
}

async fn end(instead: Instead) -> (StepService, Inspection) {
    let service = StepService::start().await;
    service.next("create", instead);
    let test_engine = open(&service).await;
    let id = submit(&test_engine).await;
    let ended = test_engine.finished(id).await;
    test_engine.close().await;
    (service, ended)
}

#[tokio::test]
async fn a_call_tells_what_the_contract_says_and_secrets_only_where_they_are_named() {
    let service = StepService::start().await;
    let test_engine = open(&service).await;
    let id = submit(&test_engine).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    let calls = service.calls();
    let create = calls.iter().find(|call| call["step"] == "create").unwrap();
    assert_eq!(
        (&create["version"], &create["action"], &create["attempt"]),
        (&json!(2), &json!("run"), &json!(1))
    );
    assert_eq!(create["operation"]["workflow"], "acme.database");
    assert_eq!(create["operation"]["workflow_version"], 1);
    assert_eq!(create["operation"]["resource"], "database:red");
    assert_eq!(create["params"], json!({"team": "red", "size": "small", "password": "hunter2"}));
    assert_eq!(create["facts"]["reserve"]["step"], "reserve");
    assert_eq!(create["own"], json!({"facts": {}, "secrets": {}}));
    assert_eq!(create["signal_url"], format!("https://engine.example/operations/{id}/signals/"));
    for other in calls.iter().filter(|call| call["step"] != "create") {
        assert!(!other.to_string().contains("hunter2"), "{other}");
    }
    assert!(!calls.iter().any(|call| call["step"] == "grow"), "size is small");
    assert!(
        !calls.iter().any(|call| call.to_string().contains("s3cret of")),
        "a step sees no secret of another"
    );
    let trace = service.traceparent();
    assert!(trace.starts_with(&format!("00-{}-", id.0.simple())), "{trace}");
    for saved in [ended.shown.params.as_str(), &ended.memory.to_text()] {
        assert!(!saved.contains("hunter2") && !saved.contains("s3cret"), "{saved}");
    }
    let shown = masked(serde_json::from_str(&ended.shown.params).unwrap());
    assert_eq!(shown["password"], "<sealed>");
    test_engine.close().await;
}

#[tokio::test]
async fn nonsense_is_tried_again_with_the_field_named() {
    for (instead, part) in [
        (Instead::Bytes(b"hello".to_vec()), "not JSON"),
        (Instead::Bytes(b"[]".to_vec()), "not a JSON object"),
        (Instead::Bytes(vec![b' '; 300 * 1024]), "longer than 262144 bytes"),
        (Instead::Answer(json!({"outcome": "done", "fcats": {}})), "fcats"),
        (Instead::Answer(json!({"outcome": "gone"})), "outcome"),
        (Instead::Status(500, "{\"reason\": \"the disk is full\"}"), "the disk is full"),
        (Instead::Status(302, ""), "302"),
        (Instead::Cut, "did not answer"),
        (Instead::Hang, "did not answer"),
        (Instead::Drip, "did not answer"),
    ] {
        let (service, ended) = end(instead).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{part}");
        let cause = ended.memory.last_error.unwrap().cause.to_string();
        assert!(cause.contains(part), "{part} is not in {cause}");
        let attempts: Vec<Value> = service
            .calls()
            .iter()
            .filter(|call| call["step"] == "create")
            .map(|call| call["attempt"].clone())
            .collect();
        assert_eq!(attempts, [1, 2], "{part}");
    }
}

#[tokio::test]
async fn an_error_and_a_failure_are_final_and_undone() {
    for (instead, part) in [
        (Instead::Answer(json!({"outcome": "fail", "reason": "no such team"})), "no such team"),
        (Instead::Status(403, "{\"reason\": \"not you\"}"), "not you"),
        (Instead::Status(404, "{\"other\": \"x\"}"), "404"),
    ] {
        let (service, ended) = end(instead).await;
        assert_eq!(ended.shown.summary.phase, Phase::Undone, "{part}");
        assert!(ended.memory.last_error.unwrap().cause.as_str().contains(part), "{part}");
        assert_eq!(service.trace(), ["run reserve", "run look", "run create", "undo create", "undo reserve"]);
        assert!(service.standing().is_empty());
        let calls = service.calls();
        let key = |action: &str| {
            let call =
                calls.iter().find(|call| call["step"] == "reserve" && call["action"] == action).unwrap();
            call["idempotency_key"].clone()
        };
        assert_eq!(key("run"), key("undo"), "undo has the key of the run");
        let undo = calls.iter().find(|call| call["step"] == "reserve" && call["action"] == "undo").unwrap();
        assert_eq!(undo["own"]["secrets"]["password"], "s3cret of reserve");
    }
}

#[tokio::test]
async fn a_service_that_never_answers_uses_up_its_saved_budget() {
    let service = StepService::start().await;
    for _ in 0..50 {
        service.next("run create", Instead::Status(503, ""));
    }
    let text = declaration(&service.url).replace("within: 2s", "within: 30ms");
    let (test_engine, declarations, _) = world().await;
    declare(&declarations, &text).await;
    let id = submit(&test_engine).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    let cause = ended.memory.last_error.unwrap().cause.to_string();
    assert!(cause.contains("gave up after"), "{cause}");
    test_engine.close().await;
}

#[tokio::test]
async fn a_wait_is_polled_and_shows_its_progress_and_a_skip_its_reason() {
    let service = StepService::start().await;
    let waits = json!({"outcome": "wait", "after": "5ms", "progress": 40, "reason": "it boots", "facts": {"id": "db-7"}});
    for _ in 0..5 {
        service.next("create", Instead::Answer(waits.clone()));
    }
    service.next("finish", Instead::Answer(json!({"outcome": "skip", "reason": "finished before"})));
    let test_engine = open(&service).await;
    let id = submit(&test_engine).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!(ended.memory.unneeded["finish"].as_str(), "finished before");
    let waited = test_engine.journal(id).await.into_iter().filter(|event| event.body.kind() == "waited");
    let waited: Vec<String> = waited.map(|event| event.body.to_text()).collect();
    assert_eq!(waited.len(), 1, "five polls with the same answer are one event: {waited:?}");
    assert!(waited[0].contains("40 %: it boots"), "{waited:?}");
    let calls = service.calls();
    let last = calls.iter().rfind(|call| call["step"] == "create").unwrap();
    assert_eq!(last["own"]["facts"]["id"], "db-7");
    test_engine.close().await;
}

/// A service refuses two equal requests of one second as a replay.
#[tokio::test]
async fn no_two_calls_are_equal_also_where_nothing_has_changed() {
    let service = StepService::start().await;
    for _ in 0..3 {
        let waits = json!({"outcome": "wait", "after": "1ms", "reason": "it boots"});
        service.next("create", Instead::Answer(waits.clone()));
        service.next("undo reserve", Instead::Answer(waits));
    }
    service.next("run create", Instead::Answer(json!({"outcome": "fail", "reason": "no room"})));
    let test_engine = open(&service).await;
    let id = submit(&test_engine).await;
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Undone);
    let calls = service.calls();
    let attempts = |step: &str, action: &str| {
        let of_step = calls.iter().filter(|call| call["step"] == step && call["action"] == action);
        of_step.map(|call| call["attempt"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(attempts("create", "run"), [1; 4]);
    assert_eq!(attempts("reserve", "undo"), [1; 4]);
    let different: BTreeSet<String> = calls.iter().map(Value::to_string).collect();
    assert_eq!(different.len(), calls.len(), "{calls:?}");
    test_engine.close().await;
}

#[tokio::test]
async fn every_call_tells_what_all_steps_before_it_said_in_later_passes_and_in_an_undo_too() {
    let service = StepService::start().await;
    service
        .next("create", Instead::Answer(json!({"outcome": "wait", "after": "5ms", "facts": {"id": "db-7"}})));
    service.next("run finish", Instead::Answer(json!({"outcome": "fail", "reason": "no"})));
    let test_engine = open(&service).await;
    let id = submit(&test_engine).await;
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Undone);
    let names = |facts: &Value| facts.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let told: Vec<(String, String)> =
        service.trace().into_iter().zip(service.calls().iter().map(|call| names(&call["facts"]))).collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(call, names)| (call.as_str(), names.as_str())).collect();
    assert_eq!(
        told,
        [
            ("run reserve", ""),
            ("run look", "reserve"),
            ("run create", "look reserve"),
            ("run create", "look reserve"),
            ("run finish", "create look reserve"),
            ("undo finish", "create look reserve"),
            ("undo create", "look reserve"),
            ("undo reserve", ""),
        ]
    );
    test_engine.close().await;
}

#[tokio::test]
async fn a_signal_ends_a_wait_whenever_it_comes_and_reaches_no_other_operation() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    declare(&declarations, &declaration(&service.url)).await;
    let waits = || Instead::Answer(json!({"outcome": "wait", "signal": "approved", "within": "1h"}));
    service.next("create", waits());
    let one = submit(&test_engine).await;
    test_engine.until(one, |phase| phase == Phase::Waiting).await;
    service.next("create", waits());
    let other = test_engine.submit("acme.database", None, json!({"team": "blue"})).await;
    test_engine.until(other, |phase| phase == Phase::Waiting).await;
    let woke =
        declarations.signal(&test_engine.inspect(one).await, "approved", json!({"by": "ann"})).await.unwrap();
    assert_eq!(woke, 1);
    assert_eq!(test_engine.finished(one).await.shown.summary.phase, Phase::Succeeded);
    let calls = service.calls();
    let told = calls.iter().rfind(|call| call["step"] == "create").unwrap();
    assert_eq!(told["signal"], json!({"key": "approved", "payload": {"by": "ann"}}));
    assert_eq!(test_engine.inspect(other).await.shown.summary.phase, Phase::Waiting);
    let token = calls[0]["signal_token"].as_str().unwrap();
    let (mine, others) = (test_engine.inspect(one).await, test_engine.inspect(other).await);
    assert!(declarations.opens(&mine, token) && !declarations.opens(&others, token));
    assert!(!declarations.opens(&mine, "sealed:1:k1:AAAA") && !declarations.opens(&mine, "pe_nonsense"));
    test_engine.close().await;
}

#[tokio::test]
async fn a_limit_lets_no_more_calls_through_at_a_time() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let text = declaration(&service.url)
        .replace("timeout: 300ms, sees", "timeout: 20s, sees")
        .replace("limit: 2", "limit: 1");
    declare(&declarations, &text).await;
    service.next("create", Instead::Hang);
    for team in ["aa", "bb", "cc"] {
        test_engine.submit("acme.database", None, json!({"team": team})).await;
    }
    let creates = || service.trace().iter().filter(|line| *line == "run create").count();
    while service.trace().iter().filter(|line| *line == "run look").count() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(creates(), 1, "the others wait for the one that hangs");
    test_engine.engine.stop(Duration::ZERO).await;
}
