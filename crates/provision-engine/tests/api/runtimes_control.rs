//! How operators step in: expire, force, repair.

use std::collections::BTreeSet;

use ::runtimes::model::catalog::Catalog;
use ::runtimes::model::{DEPROVISION, InstanceRecord, PROVISION, UPDATE};
use serde_json::{Value, json};

use crate::runtimes_world::{RuntimesFixture, Then, runtimes};
use crate::world::TestResponse;

async fn expire(place: &RuntimesFixture, id: &str) -> TestResponse {
    place
        .world
        .call("PUT", &format!("/expire/service_instance/{id}"))
        .token(&place.world.operator)
        .send()
        .await
}

async fn step_in(place: &RuntimesFixture, path: &str) -> TestResponse {
    place.world.post(path, json!({"reason": "the platform asked us to"})).await
}

fn operation(answer: &TestResponse) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer.json["operation"].as_str().unwrap().to_owned()
}

async fn params(place: &RuntimesFixture, operation: &str) -> Value {
    place.world.get(&format!("/operations/{operation}")).await.json["params"].clone()
}

#[tokio::test]
async fn an_instance_expires_once_and_for_good() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    place.all_will(Then::Hold);
    let first = operation(&expire(&place, "a").await);
    assert_eq!(params(&place, &first).await, json!({"instance_id": "a", "temporary": true, "force": false}));
    let record = place.record("a").await;
    assert!(record.suspended && record.expired_at.is_some());
    assert_eq!(operation(&expire(&place, "a").await), first, "asked again while it goes on");
    place.world.until(&first, "waiting").await;
    place.all_will(Then::Succeed);
    assert_eq!(place.world.post(&format!("/operations/{first}/retry"), json!({})).await.status, 202);
    place.world.until(&first, "succeeded").await;
    assert_eq!(operation(&expire(&place, "a").await), first, "asked again when it is over");
    assert_eq!(place.record("a").await.expired_at, record.expired_at);
    let log = place.world.get("/audit?limit=1").await.json;
    assert_eq!(log["items"][0]["action"], "runtime.expire");
    assert_eq!((&log["items"][0]["target"], &log["items"][0]["result"]), (&json!("a"), &json!("202")));
}

#[tokio::test]
async fn many_who_expire_at_once_start_one_suspension() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    place.all_will(Then::Hold);
    let calls = (0..20).map(|_| expire(&place, "a"));
    let answers = futures_util::future::join_all(calls).await;
    let operations: BTreeSet<String> = answers.iter().map(operation).collect();
    assert_eq!(operations.len(), 1, "{operations:?}");
}

#[tokio::test]
async fn what_cannot_expire_is_left_as_it_is() {
    let place = runtimes().await;
    let azure = Catalog::built_in().plan_named("azure").unwrap().id.clone();
    place
        .make(&InstanceRecord { plan_id: azure, ..place.workflow_test("a") }, PROVISION, Then::Succeed)
        .await;
    place.make(&place.workflow_test("b"), UPDATE, Then::Hold).await;
    place.make(&place.workflow_test("c"), DEPROVISION, Then::Succeed).await;
    for (id, status, code) in [
        ("a", 400, "never-expires"),
        ("b", 409, "resource-busy"),
        ("c", 404, "runtime-not-found"),
        ("unknown", 404, "runtime-not-found"),
    ] {
        expire(&place, id).await.is(status, code);
    }
    for id in ["a", "b", "c"] {
        assert_eq!(place.record(id).await.expired_at, None, "{id}");
    }
    let reader = place.world.call("PUT", "/expire/service_instance/a").token(&place.world.reader);
    reader.send().await.is(403, "forbidden");
}

#[tokio::test]
async fn what_has_no_runtime_expires_without_an_operation_and_a_failed_suspension_is_tried_again() {
    let place = runtimes().await;
    let asleep = InstanceRecord { suspended: true, ..place.workflow_test("a") };
    let before = place.make(&asleep, DEPROVISION, Then::Succeed).await.to_string();
    assert_eq!(operation(&expire(&place, "a").await), before);
    assert!(place.record("a").await.expired_at.is_some());
    let failed = InstanceRecord {
        expired_at: Some(place.engine().now()),
        suspended: true,
        ..place.workflow_test("b")
    };
    let before = place.make(&failed, DEPROVISION, Then::Fail).await.to_string();
    assert_ne!(operation(&expire(&place, "b").await), before);
}

#[tokio::test]
async fn a_forced_deletion_cancels_what_runs_and_forgets_the_runtime() {
    let place = runtimes().await;
    let running = place.make(&place.workflow_test("a"), PROVISION, Then::Hold).await.to_string();
    place.all_will(Then::Hold);
    let first = operation(&step_in(&place, "/runtimes/rt-a/force-delete").await);
    let expect = json!({"instance_id": "a", "temporary": false, "force": true});
    assert_eq!(params(&place, &first).await, expect);
    place.world.until(&running, "cancelled").await;
    assert_eq!(operation(&step_in(&place, "/runtimes/a/force-delete").await), first, "it is forced already");
    place.world.until(&first, "waiting").await;
    place.all_will(Then::Succeed);
    assert_eq!(place.world.post(&format!("/operations/{first}/retry"), json!({})).await.status, 202);
    place.world.until(&first, "succeeded").await;
    assert!(place.record("a").await.gone_at.is_some());
    step_in(&place, "/runtimes/a/force-delete").await.is(404, "runtime-not-found");
    let log = place.world.get("/audit").await.json;
    let rows: Vec<&Value> = log["items"].as_array().unwrap().iter().collect();
    let forced = rows.iter().find(|row| row["action"] == "runtime.force_delete" && row["result"] == "202");
    assert_eq!(forced.unwrap()["target"], "a: the platform asked us to");
}

#[tokio::test]
async fn a_forced_deletion_also_ends_what_others_queue_for() {
    let place = runtimes().await;
    let suspending = InstanceRecord { suspended: true, ..place.workflow_test("a") };
    let holder = place.make(&suspending, DEPROVISION, Then::Hold).await.to_string();
    place.all_will(Then::Hold);
    let queued = place.world.post(
        "/operations",
        json!({"workflow": UPDATE, "tenant": "acme", "resource": "runtime:a", "params": {}, "queue": true}),
    );
    let queued = queued.await.json["id"].as_str().unwrap().to_owned();
    place.all_will(Then::Succeed);
    let forced = operation(&step_in(&place, "/runtimes/a/force-delete").await);
    place.world.until(&holder, "cancelled").await;
    place.world.until(&queued, "cancelled").await;
    place.world.until(&forced, "succeeded").await;
    assert!(!place.record("a").await.suspended, "it is deleted, not suspended");
}

#[tokio::test]
async fn only_an_admin_forces_and_no_one_without_a_reason() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    for path in ["/runtimes/a/force-delete", "/runtimes/a/repair"] {
        let reader = place.world.call("POST", path).token(&place.world.reader).json(&json!({"reason": "x"}));
        reader.send().await.is(403, "forbidden");
        place
            .world
            .call("POST", path)
            .token(&place.world.admin)
            .send()
            .await
            .is(415, "unsupported-media-type");
        for body in [
            json!({}),
            json!({"reason": null}),
            json!({"reason": ""}),
            json!({"reason": "  "}),
            json!({"reason": "a\nb"}),
            json!({"reason": "x".repeat(501)}),
            json!({"reason": "x", "force": true}),
        ] {
            let answer = place.world.post(path, body.clone()).await.is(400, "invalid-body");
            assert!(!answer.text.is_empty(), "{body}");
        }
    }
    let forced = place.world.call("POST", "/runtimes/a/force-delete").token(&place.world.operator);
    forced.json(&json!({"reason": "x"})).send().await.is(403, "forbidden");
    assert_eq!(place.record("a").await.gone_at, None);
}

#[tokio::test]
async fn a_repair_starts_again_what_failed() {
    let place = runtimes().await;
    let fresh = InstanceRecord { ready: false, ..place.workflow_test("a") };
    let asleep = InstanceRecord { suspended: true, ..place.workflow_test("d") };
    for (instance, failed, again, temporary) in [
        (fresh, PROVISION, PROVISION, Value::Null),
        (place.workflow_test("b"), PROVISION, PROVISION, Value::Null),
        (place.workflow_test("c"), DEPROVISION, DEPROVISION, json!(false)),
        (asleep, DEPROVISION, DEPROVISION, json!(true)),
    ] {
        let id = instance.instance_id.clone();
        place.make(&instance, failed, Then::Fail).await;
        let started = operation(&step_in(&place, &format!("/runtimes/{id}/repair")).await);
        let shown = place.world.until(&started, "succeeded").await;
        assert_eq!((&shown["workflow"], &shown["params"]["temporary"]), (&json!(again), &temporary), "{id}");
        assert_eq!(shown["params"]["instance_id"], id);
    }
}

#[tokio::test]
async fn what_has_not_failed_is_not_repaired() {
    let place = runtimes().await;
    place.make(&place.workflow_test("a"), PROVISION, Then::Succeed).await;
    place.make(&place.workflow_test("b"), UPDATE, Then::Fail).await;
    let over =
        InstanceRecord { expired_at: Some(place.engine().now()), ready: false, ..place.workflow_test("c") };
    place.make(&over, PROVISION, Then::Fail).await;
    place.make(&place.workflow_test("d"), UPDATE, Then::Hold).await;
    place.make(&place.workflow_test("e"), DEPROVISION, Then::Succeed).await;
    for (id, status, code, part) in [
        ("a", 409, "nothing-to-repair", "nothing about it has failed"),
        ("b", 409, "nothing-to-repair", "send the update again"),
        ("c", 409, "nothing-to-repair", "time of its plan"),
        ("d", 409, "resource-busy", "wait"),
        ("e", 404, "runtime-not-found", "no service instance"),
    ] {
        let answer = step_in(&place, &format!("/runtimes/{id}/repair")).await.is(status, code);
        assert!(answer.json["detail"].as_str().unwrap().contains(part), "{id}: {}", answer.text);
    }
}
