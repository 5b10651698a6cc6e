//! The broker as the one whose place it takes.

use ::runtimes::api::osb::OsbSettings;
use serde_json::json;

use crate::osb_world::{
    BrokerFixture, SERVICE, SMALL, WORKFLOW_TEST, broker_with, instance, settings, wanted, with,
};

async fn old_broker() -> BrokerFixture {
    broker_with(settings(OsbSettings { compat_keb: true, ..OsbSettings::default() })).await
}

#[tokio::test]
async fn no_one_has_to_say_that_they_can_wait_except_for_a_change() {
    let world = old_broker().await;
    let put = world.ask("PUT", &instance("a")).json(&wanted(SMALL)).send().await;
    assert_eq!(put.status, 202, "{}", put.text);
    assert_eq!(put.json["metadata"], json!({"labels": {"Name": "n"}}));
    let done = world.until("a", "succeeded").await;
    assert_eq!(done.json["description"], "Processing finished");
    let change = json!({"service_id": SERVICE, "parameters": {"name": "m"}});
    world.ask("PATCH", &instance("a")).json(&change).send().await.is(422, Some("AsyncRequired"));
    let nothing = world.ask("PATCH", &instance("a")).json(&json!({"service_id": SERVICE})).send().await;
    assert_eq!(nothing.status, 200, "nothing has to be done");
    assert_eq!(world.patch("a", &change).await.status, 202);
    world.until("a", "succeeded").await;
    let path = format!("{}?service_id={SERVICE}&plan_id={SMALL}", instance("a"));
    let first = world.ask("DELETE", &path).send().await;
    assert_eq!(first.status, 202);
    let deleted = world.until("a", "succeeded").await;
    assert!(!deleted.json["description"].as_str().unwrap().is_empty());
    let again = world.ask("DELETE", &path).send().await;
    assert_eq!((again.status, again.operation()), (202, first.operation()));
}

#[tokio::test]
async fn a_repeated_request_is_answered_with_its_operation_also_when_that_is_over() {
    let world = old_broker().await;
    let first = world.put("a", &wanted(SMALL)).await;
    world.until("a", "succeeded").await;
    let again = world.put("a", &wanted(SMALL)).await;
    assert_eq!((again.status, again.operation()), (202, first.operation()));
    assert_eq!(again.json["dashboard_url"], "https://console.example.com");
}

#[tokio::test]
async fn the_ids_of_the_context_are_needed_and_those_of_the_platform_are_not() {
    let world = old_broker().await;
    for field in ["globalaccount_id", "subaccount_id", "user_id"] {
        let mut body = wanted(SMALL);
        body["context"].as_object_mut().unwrap().remove(field);
        let answer = world.put("a", &body).await;
        assert!(answer.is(400, None).text.contains(field), "{}", answer.text);
    }
    let mut body = wanted(SMALL);
    body.as_object_mut().unwrap().remove("organization_guid");
    body.as_object_mut().unwrap().remove("space_guid");
    assert_eq!(world.put("a", &body).await.status, 202);
}

#[tokio::test]
async fn deleting_what_never_was_is_a_success() {
    let world = old_broker().await;
    let answer = world.delete("never", SMALL).await;
    assert_eq!((answer.status, &answer.json), (200, &json!({})));
    assert_eq!(world.delete("never", SMALL).await.status, 200);
}

#[tokio::test]
async fn a_suspension_is_not_spoken_about() {
    let world = old_broker().await;
    assert_eq!(world.put("a", &wanted(WORKFLOW_TEST)).await.status, 202);
    world.until("a", "succeeded").await;
    let off = with(json!({"service_id": SERVICE}), &[("/context", json!({"active": false}))]);
    let answer = world.ask("PATCH", &instance("a")).json(&off).send().await;
    assert_eq!((answer.status, &answer.json), (200, &json!({})));
    world.until("a", "succeeded").await;
}

#[tokio::test]
async fn bindings_come_at_once_and_what_is_being_deleted_is_not_shown() {
    let world = old_broker().await;
    world.put("a", &wanted(SMALL)).await;
    world.until("a", "succeeded").await;
    let body = json!({"service_id": SERVICE, "plan_id": SMALL});
    let bound = world.bind("a", "b", "?accepts_incomplete=true", &body).await;
    assert_eq!(bound.status, 201, "{}", bound.text);
    assert_eq!(world.unbind("a", "b", "&accepts_incomplete=true").await.status, 200);
    assert_eq!(world.get("a").await.json["metadata"], json!({"labels": {"Name": "n"}}));
    world.levers.hold(true);
    world.delete("a", SMALL).await;
    world.get("a").await.is(404, None);
    let open = world.last("a").await;
    assert_eq!(open.json, json!({"state": "in progress", "description": "Operation created"}));
}
