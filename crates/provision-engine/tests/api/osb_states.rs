//! The table of states, cell by cell, over HTTP.

use ::runtimes::api::osb::OsbSettings;
use serde_json::{Value, json};

use ::runtimes::model::InstanceRecord;

use crate::osb_world::{
    BrokerFixture, FIXED, LARGE, OsbResponse, SERVICE, SMALL, broker, broker_with, instance, settings,
    wanted, with,
};

const BUSY: Option<&str> = Some("ConcurrencyError");

fn other() -> Value {
    with(wanted(SMALL), &[("/parameters/name", json!("another"))])
}

fn change(name: &str) -> Value {
    json!({"service_id": SERVICE, "parameters": {"name": name}})
}

/// All calls on an instance in some state, with what must come of them. `delete` is left to the caller: it may
/// change the state.
async fn check(world: &BrokerFixture, id: &str, expect: [(u16, Option<&str>); 5]) {
    let bind = json!({"service_id": SERVICE, "plan_id": SMALL});
    let answers: [(&str, OsbResponse); 5] = [
        ("PUT same", world.put(id, &wanted(SMALL)).await),
        ("PUT different", world.put(id, &other()).await),
        ("PATCH", world.patch(id, &change("third")).await),
        ("GET", world.get(id).await),
        ("bind", world.bind(id, "b", "?accepts_incomplete=true", &bind).await),
    ];
    for ((call, answer), (status, code)) in answers.iter().zip(expect) {
        let found = (answer.status, answer.json["error"].as_str());
        assert_eq!(found, (status, code), "{call}: {}", answer.text);
    }
}

#[tokio::test]
async fn an_absent_instance_is_not_found_and_deleting_it_leaves_nothing() {
    let world = broker().await;
    for answer in [world.patch("a", &change("x")).await, world.get("a").await, world.last("a").await] {
        answer.is(404, None);
    }
    world.bind("a", "b", "", &json!({"service_id": SERVICE, "plan_id": SMALL})).await.is(404, None);
    world.delete("a", SMALL).await.is(410, None);
    world.delete("a", SMALL).await.is(410, None);
    assert_eq!(world.engine.resource(&InstanceRecord::resource("a")).await.unwrap(), None, "no row");
    world.last("a").await.is(404, None);
    world.made("a", SMALL).await;
    assert_eq!(world.get("a").await.status, 200);
}

#[tokio::test]
async fn while_an_instance_is_made_the_same_request_is_answered_with_the_same_operation() {
    let world = broker().await;
    world.levers.hold(true);
    let first = world.put("a", &wanted(SMALL)).await;
    assert_eq!(first.status, 202);
    check(&world, "a", [(202, None), (409, None), (422, BUSY), (404, None), (422, BUSY)]).await;
    assert_eq!(world.put("a", &wanted(SMALL)).await.operation(), first.operation());
    let last = world.last("a").await;
    assert_eq!((last.status, last.json["state"].as_str()), (200, Some("in progress")));
    assert_eq!(last.header("retry-after"), "5");
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    assert_eq!(world.last("a").await.header("retry-after"), "");
}

#[tokio::test]
async fn a_ready_instance_is_shown_and_the_same_request_changes_nothing() {
    let world = broker().await;
    world.made("a", SMALL).await;
    let again = world.put("a", &wanted(SMALL)).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json, json!({"dashboard_url": "https://console.example.com"}));
    world.put("a", &other()).await.is(409, None);
    let shown = world.get("a").await;
    assert_eq!(
        shown.json,
        json!({
            "service_id": SERVICE, "plan_id": SMALL, "dashboard_url": "https://console.example.com",
            "parameters": {"name": "n", "region": "north"}, "maintenance_info": {"version": "1.2.3"},
        })
    );
    let last = world.last("a").await;
    assert_eq!(last.json, json!({"state": "succeeded", "description": "the runtime is ready"}));
}

#[tokio::test]
async fn names_may_change_and_ids_may_not() {
    let world = broker().await;
    world.made("a", SMALL).await;
    for (pointer, value, status) in [
        ("/context/organization_name", json!("renamed"), 200),
        ("/context/instance_name", json!("renamed"), 200),
        ("/unknown", json!({"a": 1}), 200),
        ("/organization_guid", json!("elsewhere"), 409),
        ("/space_guid", json!("elsewhere"), 409),
        ("/context/platform", json!("kubernetes"), 409),
        ("/context/space_guid", json!("elsewhere"), 409),
        ("/context/namespace", json!("elsewhere"), 409),
        ("/parameters/autoScalerMax", json!(2), 409),
    ] {
        let answer = world.put("a", &with(wanted(SMALL), &[(pointer, value)])).await;
        assert_eq!(answer.status, status, "{pointer}: {}", answer.text);
    }
    let large = with(wanted(LARGE), &[]);
    world.put("a", &large).await.is(409, None);
}

#[tokio::test]
async fn while_an_instance_changes_everything_else_has_to_wait() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    let first = world.patch("a", &change("second")).await;
    assert_eq!(first.status, 202, "{}", first.text);
    check(&world, "a", [(422, BUSY), (409, None), (422, BUSY), (422, BUSY), (422, BUSY)]).await;
    world.delete("a", SMALL).await.is(422, BUSY);
    let again = world.patch("a", &change("second")).await;
    assert_eq!((again.status, again.operation()), (202, first.operation()));
    assert_eq!(world.last("a").await.json["state"], "in progress");
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"]["name"], "second");
}

#[tokio::test]
async fn while_an_instance_is_deleted_the_same_deletion_is_answered_with_the_same_operation() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    let first = world.delete("a", SMALL).await;
    assert_eq!(first.status, 202);
    check(&world, "a", [(422, BUSY), (409, None), (422, BUSY), (200, None), (422, BUSY)]).await;
    assert_eq!(world.delete("a", SMALL).await.operation(), first.operation());
    assert_eq!(world.last("a").await.json["state"], "in progress");
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    check(&world, "a", [(409, None), (409, None), (404, None), (404, None), (404, None)]).await;
    world.delete("a", SMALL).await.is(410, None);
}

#[tokio::test]
async fn an_instance_that_could_not_be_made_can_only_be_deleted() {
    let world = broker().await;
    world.levers.fail(true);
    world.put("a", &wanted(SMALL)).await;
    let failed = world.until("a", "failed").await;
    assert_eq!(failed.json, json!({"state": "failed", "description": "the stage is on fire"}));
    check(&world, "a", [(409, None), (409, None), (422, None), (404, None), (422, None)]).await;
    let first = world.delete("a", SMALL).await;
    assert_eq!(first.status, 202);
    let failed = world.until("a", "failed").await;
    assert_eq!(failed.json["instance_usable"], false, "{}", failed.text);
    check(&world, "a", [(409, None), (409, None), (422, None), (200, None), (422, None)]).await;
    world.levers.fail(false);
    let second = world.delete("a", SMALL).await;
    assert_eq!(second.status, 202);
    assert_ne!(second.operation(), first.operation(), "after a failure there is a new operation");
    world.until("a", "succeeded").await;
    world.delete("a", SMALL).await.is(410, None);
}

#[tokio::test]
async fn deleting_an_instance_that_is_being_made_stops_the_making() {
    let world = broker().await;
    world.levers.hold(true);
    let made = world.put("a", &wanted(SMALL)).await;
    let deleted = world.delete("a", SMALL).await;
    assert_eq!(deleted.status, 202, "{}", deleted.text);
    assert_ne!(made.operation(), deleted.operation());
    assert_eq!(world.delete("a", SMALL).await.operation(), deleted.operation());
    world.put("a", &wanted(SMALL)).await.is(422, BUSY);
    let of_making = format!("{}/last_operation?operation={}", instance("a"), made.operation());
    let ended = world.until_at(&of_making, "failed").await;
    assert!(ended.json["description"].as_str().unwrap().contains("cancelled"), "{}", ended.text);
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    world.get("a").await.is(404, None);
    world.put("a", &wanted(SMALL)).await.is(409, None);
}

#[tokio::test]
async fn a_deleted_instance_is_gone_where_the_settings_say_so() {
    let world = broker_with(settings(OsbSettings { gone: true, ..OsbSettings::default() })).await;
    world.made("a", SMALL).await;
    let made = world.last("a").await;
    assert_eq!(made.json["state"], "succeeded");
    let deleted = world.delete("a", SMALL).await;
    for _ in 0..1000 {
        if world.last("a").await.status == 410 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    world.last("a").await.is(410, None);
    let path = format!("{}/last_operation?operation=", instance("a"));
    world.ask("GET", &format!("{path}{}", deleted.operation())).send().await.is(410, None);
    world.ask("GET", &format!("{path}nonsense")).send().await.is(410, None);
    world.delete("b", SMALL).await.is(410, None);
    world.last("b").await.is(404, None);
}

#[tokio::test]
async fn a_plan_that_cannot_change_says_so() {
    let world = broker().await;
    world.made("a", FIXED).await;
    world.patch("a", &json!({"service_id": SERVICE, "plan_id": SMALL})).await.is(422, None);
    assert_eq!(world.get("a").await.json["plan_id"], FIXED);
}
