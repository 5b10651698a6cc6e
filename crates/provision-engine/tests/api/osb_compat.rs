//! The broker as the one whose place it takes.

use std::time::Duration;

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::backend::BackendKind;
use serde_json::{Value, json};

use crate::osb_world::{
    BrokerFixture, LARGE, SERVICE, SMALL, WORKFLOW_TEST, binding, broker_on, instance, on_both_back_ends,
    settings, wanted, with,
};

async fn old_broker(backend: BackendKind) -> BrokerFixture {
    broker_on(settings(OsbSettings { compat_keb: true, ..OsbSettings::default() }), backend).await
}

on_both_back_ends! {
    no_one_has_to_say_that_they_can_wait_except_for_a_change,
    a_repeated_request_is_answered_with_its_operation_also_when_that_is_over,
    the_ids_of_the_context_are_needed_and_those_of_the_platform_are_not,
    deleting_what_never_was_is_a_success,
    a_suspension_is_not_spoken_about,
    bindings_come_at_once_and_what_is_being_deleted_is_not_shown,
    who_turns_an_instance_off_changes_nothing_else,
    a_suspended_instance_is_changed_and_comes_back_as_it_was_asked_to_be,
    a_change_while_the_instance_is_suspended_is_made_after_it,
    changes_queue_and_are_made_one_after_the_other,
    a_change_that_fails_takes_nothing_from_the_one_behind_it,
    a_queue_has_an_end,
    a_deletion_comes_after_the_changes_before_it,
    a_change_behind_a_provisioning_that_fails_makes_no_instance_of_it,
    bindings_end_with_their_instance,
    the_usual_lifetime_is_the_same_as_none,
}

async fn no_one_has_to_say_that_they_can_wait_except_for_a_change(backend: BackendKind) {
    let world = old_broker(backend).await;
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

async fn a_repeated_request_is_answered_with_its_operation_also_when_that_is_over(backend: BackendKind) {
    let world = old_broker(backend).await;
    let first = world.put("a", &wanted(SMALL)).await;
    world.until("a", "succeeded").await;
    let again = world.put("a", &wanted(SMALL)).await;
    assert_eq!((again.status, again.operation()), (202, first.operation()));
    assert_eq!(again.json["dashboard_url"], "https://console.example.com");
}

async fn the_ids_of_the_context_are_needed_and_those_of_the_platform_are_not(backend: BackendKind) {
    let world = old_broker(backend).await;
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

async fn deleting_what_never_was_is_a_success(backend: BackendKind) {
    let world = old_broker(backend).await;
    let answer = world.delete("never", SMALL).await;
    assert_eq!((answer.status, &answer.json), (200, &json!({})));
    assert_eq!(world.delete("never", SMALL).await.status, 200);
}

async fn a_suspension_is_not_spoken_about(backend: BackendKind) {
    let world = old_broker(backend).await;
    assert_eq!(world.put("a", &wanted(WORKFLOW_TEST)).await.status, 202);
    world.until("a", "succeeded").await;
    let off = with(json!({"service_id": SERVICE}), &[("/context", json!({"active": false}))]);
    let answer = world.ask("PATCH", &instance("a")).json(&off).send().await;
    assert_eq!((answer.status, &answer.json), (200, &json!({})));
    world.until("a", "succeeded").await;
}

async fn bindings_come_at_once_and_what_is_being_deleted_is_not_shown(backend: BackendKind) {
    let world = old_broker(backend).await;
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

fn change(parameters: &Value) -> Value {
    json!({"service_id": SERVICE, "parameters": parameters})
}

async fn operations(world: &BrokerFixture, id: &str) -> Vec<(String, engine::Phase)> {
    let resource = Some(format!("runtime:{id}"));
    let query = engine::store::OperationQuery { resource, limit: 100, ..Default::default() };
    let mut list = world.engine.list(&query).await.unwrap();
    // Ids of one millisecond have no order.
    list.sort_by_key(|summary| summary.created_at);
    list.into_iter().map(|summary| (summary.id.to_string(), summary.phase)).collect()
}

async fn all_over(world: &BrokerFixture, id: &str) {
    while operations(world, id).await.iter().any(|(_, phase)| !phase.is_final()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn who_turns_an_instance_off_changes_nothing_else(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", WORKFLOW_TEST).await;
    let both = json!({"service_id": SERVICE, "context": {"active": false}, "parameters": {"name": "m"}});
    let off = world.patch("a", &both).await;
    assert_eq!((off.status, &off.json), (200, &json!({})));
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "n"}));
    let both = json!({"service_id": SERVICE, "context": {"active": true}, "parameters": {"name": "m"}});
    assert_eq!(world.patch("a", &both).await.status, 200);
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "n"}));
    assert_eq!(world.patch("a", &both).await.status, 202, "it is active already, so the rest counts");
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "m"}));
    assert_eq!(operations(&world, "a").await.len(), 4);
}

async fn a_suspended_instance_is_changed_and_comes_back_as_it_was_asked_to_be(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", WORKFLOW_TEST).await;
    world.patch("a", &json!({"service_id": SERVICE, "context": {"active": false}})).await;
    world.until("a", "succeeded").await;
    let asleep = world.ask("PATCH", &instance("a")).json(&change(&json!({"name": "m"}))).send().await;
    asleep.is(422, Some("AsyncRequired"));
    world.patch("a", &change(&json!({"name": "not a name"}))).await.is(400, None);
    let answer = world.patch("a", &change(&json!({"name": "m"}))).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let path = format!("{}/last_operation?operation={}", instance("a"), answer.operation());
    assert_eq!(world.ask("GET", &path).send().await.json["state"], "succeeded");
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "m"}));
    assert_eq!(operations(&world, "a").await.len(), 2, "nothing had to be done");
    assert_eq!(world.patch("a", &change(&json!({"name": "m"}))).await.status, 200, "it is so already");
    world.patch("a", &json!({"service_id": SERVICE, "context": {"active": true}})).await;
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "m"}));
}

async fn a_change_while_the_instance_is_suspended_is_made_after_it(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", WORKFLOW_TEST).await;
    world.levers.hold(true);
    let off = json!({"service_id": SERVICE, "context": {"active": false}});
    assert_eq!(world.patch("a", &off).await.status, 200);
    let again = world.patch("a", &off).await;
    assert_eq!(again.status, 202, "it is being suspended: {}", again.text);
    let alone = world.ask("PATCH", &instance("a")).json(&change(&json!({"name": "m"}))).send().await;
    alone.is(422, Some("AsyncRequired"));
    world.patch("a", &change(&json!({"name": "not a name"}))).await.is(400, None);
    let queued = world.patch("a", &change(&json!({"name": "m"}))).await;
    assert_eq!(queued.status, 202, "{}", queued.text);
    assert_ne!(queued.operation(), again.operation());
    let same = world.patch("a", &change(&json!({"name": "m"}))).await;
    assert_eq!((same.status, same.operation()), (202, queued.operation()), "the same again");
    let on = json!({"service_id": SERVICE, "context": {"active": true}});
    world.patch("a", &on).await.is(422, Some("ConcurrencyError"));
    world.levers.hold(false);
    all_over(&world, "a").await;
    let shown = world.get("a").await;
    assert_eq!(shown.json["parameters"], json!({"name": "m"}));
    assert_eq!(operations(&world, "a").await.len(), 3);
    let later = world.patch("a", &change(&json!({"name": "o"}))).await;
    assert_eq!(later.status, 202, "{}", later.text);
    assert_eq!(operations(&world, "a").await.len(), 3, "it is suspended, so nothing had to be done");
    assert_eq!(world.patch("a", &on).await.status, 200);
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["parameters"], json!({"name": "o"}));
}

async fn changes_queue_and_are_made_one_after_the_other(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.levers.hold(true);
    let made = world.put("a", &wanted(SMALL)).await;
    let first = world.patch("a", &change(&json!({"autoScalerMax": 2}))).await;
    assert_eq!(first.status, 202, "while it is made: {}", first.text);
    assert_ne!(first.operation(), made.operation());
    let again = world.patch("a", &change(&json!({"autoScalerMax": 2}))).await;
    assert_eq!((again.status, again.operation()), (202, first.operation()), "the same again");
    let nothing = world.patch("a", &json!({"service_id": SERVICE})).await;
    assert_eq!((nothing.status, nothing.operation()), (202, first.operation()));
    let second = world.patch("a", &change(&json!({"name": "m"}))).await;
    assert_eq!(second.status, 202, "{}", second.text);
    assert_ne!(second.operation(), first.operation());
    let moved = json!({"service_id": SERVICE, "context": {"globalaccount_id": "ga-2"}});
    assert_eq!(world.ask("PATCH", &instance("a")).json(&moved).send().await.status, 200);
    let alone = world.ask("PATCH", &instance("a")).json(&change(&json!({"name": "o"}))).send().await;
    alone.is(422, Some("AsyncRequired"));
    world.patch("a", &change(&json!({"autoScalerMin": 9}))).await.is(400, None);
    world.patch("a", &change(&json!({"autoScalerMin": 3}))).await.is(400, None);
    world.get("a").await.is(404, None);
    world.levers.hold(false);
    all_over(&world, "a").await;
    let listed = operations(&world, "a").await;
    let ids: Vec<&str> = listed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids[..3], [made.operation(), first.operation(), second.operation()]);
    assert!(
        listed.len() == 4 && listed.iter().all(|(_, phase)| *phase == engine::Phase::Succeeded),
        "{listed:?}"
    );
    let shown = world.get("a").await;
    assert_eq!(shown.json["parameters"], json!({"name": "m", "region": "north", "autoScalerMax": 2}));
}

async fn a_change_that_fails_takes_nothing_from_the_one_behind_it(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    world.patch("a", &change(&json!({"autoScalerMax": 2}))).await;
    assert_eq!(world.get("a").await.status, 200, "it is shown while it changes");
    let second = world.patch("a", &json!({"service_id": SERVICE, "plan_id": LARGE})).await;
    assert_eq!(second.status, 202, "{}", second.text);
    let same = world.put("a", &wanted(SMALL)).await;
    assert_eq!((same.status, same.operation()), (202, second.operation()));
    world.levers.fail(true);
    world.levers.hold(false);
    all_over(&world, "a").await;
    world.levers.fail(false);
    assert_eq!(world.get("a").await.json["plan_id"], SMALL);
    assert_eq!(world.patch("a", &json!({"service_id": SERVICE, "plan_id": LARGE})).await.status, 202);
    world.until("a", "succeeded").await;
    assert_eq!(world.get("a").await.json["plan_id"], LARGE);
}

async fn a_queue_has_an_end(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    for number in 0..20 {
        let answer = world.patch("a", &change(&json!({"name": format!("n-{number}")}))).await;
        assert_eq!(answer.status, 202, "{number}: {}", answer.text);
    }
    world.patch("a", &change(&json!({"name": "one-more"}))).await.is(422, Some("ConcurrencyError"));
}

async fn a_deletion_comes_after_the_changes_before_it(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    assert_eq!(world.patch("a", &change(&json!({"name": "m"}))).await.status, 202);
    let deleted = world.delete("a", SMALL).await;
    assert_eq!(deleted.status, 202, "{}", deleted.text);
    assert_eq!(world.delete("a", SMALL).await.operation(), deleted.operation());
    world.patch("a", &change(&json!({"name": "late"}))).await.is(422, Some("ConcurrencyError"));
    world.levers.hold(false);
    all_over(&world, "a").await;
    world.get("a").await.is(404, None);
    let listed = operations(&world, "a").await;
    assert_eq!((listed.len(), listed[2].0.as_str()), (3, deleted.operation()));
}

async fn a_change_behind_a_provisioning_that_fails_makes_no_instance_of_it(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.levers.hold(true);
    world.put("a", &wanted(SMALL)).await;
    world.patch("a", &change(&json!({"name": "m"}))).await;
    world.levers.fail(true);
    world.levers.hold(false);
    all_over(&world, "a").await;
    world.get("a").await.is(404, None);
    world.patch("a", &change(&json!({"name": "o"}))).await.is(422, None);
    world.levers.fail(false);
    assert_eq!(world.delete("a", SMALL).await.status, 202);
    world.until("a", "succeeded").await;
}

async fn bindings_end_with_their_instance(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.made("a", SMALL).await;
    let body = json!({"service_id": SERVICE, "plan_id": SMALL});
    for id in ["b", "c"] {
        assert_eq!(world.bind("a", id, "", &body).await.status, 201);
    }
    let deleted = world.delete("a", SMALL).await;
    assert_eq!(deleted.status, 202, "{}", deleted.text);
    world.until("a", "succeeded").await;
    for id in ["b", "c"] {
        world.until_at(&format!("{}/last_operation", binding("a", id)), "succeeded").await;
        world.unbind("a", id, "").await.is(410, None);
        assert_eq!(world.ask("GET", &binding("a", id)).send().await.status, 404);
    }
}

async fn the_usual_lifetime_is_the_same_as_none(backend: BackendKind) {
    let world = old_broker(backend).await;
    world.levers.hold(true);
    world.put("a", &wanted(SMALL)).await;
    let plain = json!({"service_id": SERVICE, "plan_id": SMALL});
    let lasting =
        |seconds: u32| with(plain.clone(), &[("/parameters", json!({"expiration_seconds": seconds}))]);
    world.bind("a", "b", "", &plain).await.is(400, None);
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    assert_eq!(world.bind("a", "b", "", &plain).await.status, 201);
    for same in [plain.clone(), lasting(600), with(plain.clone(), &[("/parameters", json!({}))])] {
        assert_eq!(world.bind("a", "b", "", &same).await.status, 200, "{same}");
    }
    world.bind("a", "b", "", &lasting(601)).await.is(409, None);
    assert_eq!(world.bind("a", "c", "", &lasting(600)).await.status, 201);
    assert_eq!(world.bind("a", "c", "", &plain).await.status, 200);
    assert_eq!(world.bind("a", "d", "", &lasting(930)).await.status, 201);
    world.bind("a", "d", "", &plain).await.is(409, None);
    world.bind("a", "e", "", &lasting(599)).await.is(400, None);
}
