//! Changes: of parameters, of the plan, of the version, of the context, and of whether an instance is active.

use std::time::Duration;

use ::runtimes::backend::BackendKind;
use ::runtimes::model::InstanceRecord;
use engine::Resource;
use engine::store::Expect;
use serde_json::{Value, json};

use crate::osb_world::{BrokerFixture, LARGE, SERVICE, SMALL, WORKFLOW_TEST, broker, wanted, with};

fn patch(fields: &[(&str, Value)]) -> Value {
    with(json!({"service_id": SERVICE}), fields)
}

fn active(active: bool) -> Value {
    patch(&[("/context", json!({"active": active}))])
}

async fn record(world: &BrokerFixture, id: &str) -> Value {
    let row = world.engine.resource(&format!("runtime:{id}")).await.unwrap().unwrap();
    serde_json::from_str(&row.record).unwrap()
}

#[tokio::test]
async fn what_changes_nothing_is_done_already() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let before = world.engine.resource("runtime:a").await.unwrap().unwrap().version;
    for body in [
        patch(&[]),
        patch(&[("/plan_id", json!(SMALL))]),
        patch(&[("/parameters", json!({}))]),
        patch(&[("/parameters", json!({"name": "n"}))]),
        patch(&[("/maintenance_info", json!({"version": "1.2.3"}))]),
        patch(&[("/maintenance_info", json!({}))]),
        patch(&[("/context", json!({"globalaccount_id": "ga"}))]),
        patch(&[("/previous_values", json!({"plan_id": "nonsense", "maintenance_info": {"version": "0"}}))]),
        patch(&[("/parameters", Value::Null), ("/context", Value::Null), ("/plan_id", Value::Null)]),
    ] {
        let answer = world.patch("a", &body).await;
        assert_eq!((answer.status, &answer.json), (200, &json!({})), "{body}: {}", answer.text);
    }
    let after = world.engine.resource("runtime:a").await.unwrap().unwrap().version;
    assert_eq!(before, after, "nothing was written");
}

#[tokio::test]
async fn what_is_absent_stays_and_what_is_given_is_laid_over_it() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let answer = world.patch("a", &patch(&[("/parameters", json!({"autoScalerMax": 2}))])).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    world.until("a", "succeeded").await;
    let shown = world.get("a").await;
    assert_eq!(shown.json["parameters"], json!({"name": "n", "region": "north", "autoScalerMax": 2}));
    assert_eq!(shown.json["plan_id"], SMALL);
    let answer = world.patch("a", &patch(&[("/plan_id", json!(LARGE))])).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    world.until("a", "succeeded").await;
    let shown = world.get("a").await;
    assert_eq!(shown.json["plan_id"], LARGE);
    assert_eq!(shown.json["parameters"], json!({"name": "n", "region": "north", "autoScalerMax": 2}));
}

#[tokio::test]
async fn a_change_that_cannot_be_is_refused_and_changes_nothing() {
    let world = broker().await;
    world.made("a", SMALL).await;
    for (body, status) in [
        (patch(&[("/parameters", json!({"region": "south"}))]), 400),
        (patch(&[("/parameters", json!({"machineType": "hush"}))]), 400),
        (patch(&[("/parameters", json!({"autoScalerMin": 3, "autoScalerMax": 2}))]), 400),
        // Alone it is good, with what is there it is not.
        (patch(&[("/parameters", json!({"autoScalerMin": 9}))]), 400),
        (patch(&[("/plan_id", json!(WORKFLOW_TEST))]), 422),
        (patch(&[("/plan_id", json!(LARGE)), ("/parameters", json!({"machineType": "m1"}))]), 400),
        (patch(&[("/context", json!({"active": "no"}))]), 400),
        (patch(&[("/context", json!({"globalaccount_id": 7}))]), 400),
    ] {
        let answer = world.patch("a", &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text);
        assert!(!answer.text.contains("hush"), "{}", answer.text);
    }
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "n", "region": "north"}));
}

#[tokio::test]
async fn a_machine_that_the_new_plan_does_not_have_is_noticed_when_the_plan_changes() {
    let world = broker().await;
    let body = with(wanted(SMALL), &[("/parameters/machineType", json!("m1"))]);
    assert_eq!(world.put("a", &body).await.status, 202);
    world.until("a", "succeeded").await;
    world.patch("a", &patch(&[("/plan_id", json!(LARGE))])).await.is(400, None);
    let both = patch(&[("/plan_id", json!(LARGE)), ("/parameters", json!({"machineType": "m2"}))]);
    assert_eq!(world.patch("a", &both).await.status, 202);
}

#[tokio::test]
async fn a_failed_change_leaves_a_usable_instance_and_may_be_repeated() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.levers.fail(true);
    let body = patch(&[("/parameters", json!({"autoScalerMax": 2}))]);
    assert_eq!(world.patch("a", &body).await.status, 202);
    let failed = world.until("a", "failed").await;
    assert_eq!(failed.json["instance_usable"], true, "{}", failed.text);
    assert_eq!(failed.json["update_repeatable"], true, "{}", failed.text);
    assert_eq!(failed.json["description"], "the stage is on fire");
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "n", "region": "north"}));
    assert_eq!(world.put("a", &wanted(SMALL)).await.status, 200);
    world.levers.fail(false);
    assert_eq!(world.patch("a", &body).await.status, 202);
    let done = world.until("a", "succeeded").await;
    assert!(done.json.get("instance_usable").is_none(), "{}", done.text);
}

#[tokio::test]
async fn an_instance_moves_to_another_account_without_an_operation() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let moved = patch(&[("/context", json!({"globalaccount_id": "ga-2", "note": "hush"}))]);
    let answer = world.patch("a", &moved).await;
    assert_eq!((answer.status, &answer.json), (200, &json!({})));
    let record = record(&world, "a").await;
    assert_eq!((&record["account"], &record["subaccount"]), (&json!("ga-2"), &json!("sa")));
    assert!(!record.to_string().contains("hush"));
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    assert_eq!(row.tenant, "ga", "what sealed the record must open it");
    assert_eq!(world.get("a").await.status, 200);
    assert_eq!(world.patch("a", &moved).await.json, json!({}));
}

#[tokio::test]
async fn an_instance_whose_objects_name_their_account_moves_by_an_operation() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    let mut record: InstanceRecord = serde_json::from_str(&row.record).unwrap();
    record.backend = Some(BackendKind::InfrastructureManager);
    let (expect, update) = (Expect::Version(row.version), Some(record.record_update().unwrap()));
    assert!(world.engine.write_resource(&row.name, &row.tenant, expect, update).await.unwrap());
    let moved = patch(&[("/context", json!({"globalaccount_id": "ga-2"}))]);
    let answer = world.patch("a", &moved).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert_ne!(Some(answer.operation()), row.operation.map(|id| id.to_string()).as_deref());
    world.until("a", "succeeded").await;
}

#[tokio::test]
async fn an_instance_of_a_plan_that_ends_is_suspended_and_resumed() {
    let world = broker().await;
    world.made("a", WORKFLOW_TEST).await;
    world.levers.hold(true);
    let off = world.patch("a", &active(false)).await;
    assert_eq!(off.status, 202, "{}", off.text);
    assert_eq!(world.patch("a", &active(false)).await.operation(), off.operation(), "the same again");
    world.patch("a", &active(true)).await.is(422, Some("ConcurrencyError"));
    world.get("a").await.is(422, Some("ConcurrencyError"));
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    let suspended = record(&world, "a").await;
    assert_eq!((&suspended["suspended"], &suspended["gone_at"]), (&json!(true), &Value::Null));
    assert_eq!(world.get("a").await.status, 200);
    assert_eq!(world.patch("a", &active(false)).await.status, 200);
    let change = patch(&[("/parameters", json!({"name": "m"}))]);
    world.patch("a", &change).await.is(422, None);
    world.levers.hold(true);
    let on = world.patch("a", &active(true)).await;
    assert_eq!(on.status, 202, "{}", on.text);
    assert_eq!(world.patch("a", &active(true)).await.operation(), on.operation(), "the same again");
    world.put("a", &wanted(WORKFLOW_TEST)).await.is(422, Some("ConcurrencyError"));
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    let resumed = record(&world, "a").await;
    assert_eq!(resumed["former_runtimes"], json!(["runtime-1"]));
    assert_eq!((&resumed["suspended"], &resumed["runtime_id"]), (&json!(false), &json!("runtime-2")));
    assert_eq!(world.patch("a", &active(true)).await.status, 200);
}

#[tokio::test]
async fn a_suspension_that_failed_can_be_repeated_and_a_resumption_too() {
    let world = broker().await;
    world.made("a", WORKFLOW_TEST).await;
    world.levers.fail(true);
    assert_eq!(world.patch("a", &active(false)).await.status, 202);
    world.until("a", "failed").await;
    world.patch("a", &active(true)).await.is(422, None);
    world.levers.fail(false);
    assert_eq!(world.patch("a", &active(false)).await.status, 202);
    world.until("a", "succeeded").await;
    world.levers.fail(true);
    assert_eq!(world.patch("a", &active(true)).await.status, 202);
    world.until("a", "failed").await;
    world.levers.fail(false);
    assert_eq!(world.patch("a", &active(true)).await.status, 202);
    world.until("a", "succeeded").await;
    assert_eq!(record(&world, "a").await["suspended"], false);
}

#[tokio::test]
async fn a_suspended_instance_can_be_deleted_for_good() {
    let world = broker().await;
    world.made("a", WORKFLOW_TEST).await;
    world.patch("a", &active(false)).await;
    world.until("a", "succeeded").await;
    assert_eq!(world.delete("a", WORKFLOW_TEST).await.status, 202);
    world.until("a", "succeeded").await;
    world.get("a").await.is(404, None);
    world.delete("a", WORKFLOW_TEST).await.is(410, None);
}

#[tokio::test]
async fn plans_that_never_end_ignore_whether_an_instance_is_active() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let before = world.engine.resource("runtime:a").await.unwrap().unwrap().operation;
    assert_eq!(world.patch("a", &active(false)).await.status, 200);
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    assert_eq!(row.operation, before);
    assert_eq!(record(&world, "a").await["suspended"], false);
}

#[tokio::test]
async fn an_instance_whose_time_is_over_does_not_come_back() {
    let world = broker().await;
    world.made("a", WORKFLOW_TEST).await;
    world.patch("a", &active(false)).await;
    world.until("a", "succeeded").await;
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    let mut instance: ::runtimes::model::InstanceRecord = serde_json::from_str(&row.record).unwrap();
    instance.expired_at = Some(engine::Timestamp(1));
    let record_update = engine::Resource::record_update(&instance).unwrap();
    let expect = engine::store::Expect::Version(row.version);
    assert!(world.engine.write_resource(&row.name, &row.tenant, expect, Some(record_update)).await.unwrap());
    let refused = world.patch("a", &active(true)).await;
    assert!(refused.is(422, None).text.contains("time"), "{}", refused.text);
    world.patch("a", &patch(&[("/parameters", json!({"name": "m"}))])).await.is(422, None);
    let moved = patch(&[("/context", json!({"globalaccount_id": "ga-2"}))]);
    assert_eq!(world.patch("a", &moved).await.status, 200, "its account may still change");
    assert_eq!(world.delete("a", WORKFLOW_TEST).await.status, 202);
    tokio::time::timeout(Duration::from_secs(10), world.until("a", "succeeded")).await.unwrap();
}
