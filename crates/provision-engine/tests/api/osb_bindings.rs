//! Bindings: credentials at once and later, once and again, and revoked.

use std::time::Duration;

use ::runtimes::api::osb::OsbSettings;
use serde_json::{Value, json};

use crate::osb_world::{
    BrokerFixture, LARGE, SERVICE, SMALL, WORKFLOW_TEST, binding, broker, broker_with, settings, with,
};

const LATER: &str = "?accepts_incomplete=true";
const BUSY: Option<&str> = Some("ConcurrencyError");

fn wanted() -> Value {
    json!({"service_id": SERVICE, "plan_id": SMALL, "bind_resource": {}, "parameters": {"expiration_seconds": 900}})
}

fn last(bid: &str) -> String {
    format!("{}/last_operation", binding("a", bid))
}

async fn with_instance() -> BrokerFixture {
    let world = broker().await;
    world.made("a", SMALL).await;
    world
}

#[tokio::test]
async fn credentials_come_at_once_and_the_same_again() {
    let world = with_instance().await;
    let first = world.bind("a", "b", "", &wanted()).await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.json["credentials"], json!({"kubeconfig": "kubeconfig of runtime-1"}));
    assert!(engine::Timestamp::parse(first.json["metadata"]["expires_at"].as_str().unwrap()).is_some());
    let again = world.bind("a", "b", "", &wanted()).await;
    assert_eq!((again.status, &again.json), (200, &first.json));
    assert_eq!(world.bind("a", "b", LATER, &wanted()).await.status, 200);
    let fetched = world.ask("GET", &binding("a", "b")).send().await;
    assert_eq!((fetched.status, &fetched.json), (200, &first.json));
    assert_eq!(fetched.json["parameters"], json!({"expiration_seconds": 900}));
    let row = world.engine.resource("binding:a/b").await.unwrap().unwrap();
    assert!(!row.record.contains("kubeconfig of"), "{}", row.record);
    for (pointer, value) in [
        ("/parameters/expiration_seconds", json!(1200)),
        ("/bind_resource", json!({"app_guid": "x"})),
        ("/context", json!({"platform": "kubernetes"})),
        ("/plan_id", json!(LARGE)),
    ] {
        world.bind("a", "b", "", &with(wanted(), &[(pointer, value)])).await.is(409, None);
    }
    assert_eq!(
        world.bind("a", "b", "", &with(wanted(), &[("/context", json!({"email": "e"}))])).await.status,
        200
    );
}

#[tokio::test]
async fn credentials_that_come_later_are_not_in_the_first_answer() {
    let world = with_instance().await;
    world.levers.hold(true);
    let first = world.bind("a", "b", LATER, &wanted()).await;
    assert_eq!(first.status, 202, "{}", first.text);
    assert_eq!(first.json, json!({"operation": first.operation()}));
    let again = world.bind("a", "b", LATER, &wanted()).await;
    assert_eq!((again.status, again.operation()), (202, first.operation()));
    world.bind("a", "b", LATER, &with(wanted(), &[("/parameters", json!({}))])).await.is(409, None);
    world.ask("GET", &binding("a", "b")).send().await.is(404, None);
    let open = world.ask("GET", &last("b")).send().await;
    assert_eq!((open.json["state"].as_str(), open.header("retry-after")), (Some("in progress"), "5"));
    world.levers.hold(false);
    let done = world.until_at(&last("b"), "succeeded").await;
    assert_eq!(done.json, json!({"state": "succeeded", "description": "the credentials are made"}));
    assert_eq!(world.ask("GET", &binding("a", "b")).send().await.status, 200);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_bound_shown_or_taken_back() {
    let world = with_instance().await;
    world.bind("never", "b", "", &wanted()).await.is(404, None);
    world.ask("GET", &binding("a", "never")).send().await.is(404, None);
    world.ask("GET", &last("never")).send().await.is(404, None);
    for (id, bid) in [("a", "never"), ("nowhere", "never")] {
        world.unbind(id, bid, "").await.is(410, None);
        world.unbind(id, bid, "&accepts_incomplete=true").await.is(410, None);
    }
    world.ask("GET", &last("never")).send().await.is(404, None);
    assert_eq!(world.bind("a", "never", "", &wanted()).await.status, 201, "its id is not used up");
}

#[tokio::test]
async fn a_binding_has_the_plan_of_its_instance_and_the_plan_has_bindings() {
    let world = with_instance().await;
    world.bind("a", "b", "", &with(wanted(), &[("/plan_id", json!(LARGE))])).await.is(400, None);
    world.made("t", WORKFLOW_TEST).await;
    let body = json!({"service_id": SERVICE, "plan_id": WORKFLOW_TEST});
    world.bind("t", "b", "", &body).await.is(422, Some("BindingNotSupported"));
    for (pointer, value) in [
        ("/parameters", json!({"expiration_seconds": 599})),
        ("/parameters", json!({"expiration_seconds": 7201})),
        ("/parameters", json!({"expiration_seconds": "hush"})),
        ("/parameters", json!({"unknown": "hush"})),
        ("/parameters", json!([])),
        ("/bind_resource", json!("hush")),
        ("/app_guid", json!(7)),
        ("/predecessor_binding_id", json!(7)),
        ("/plan_id", json!("hush")),
        ("/service_id", Value::Null),
    ] {
        let answer = world.bind("a", "b", "", &with(wanted(), &[(pointer, value)])).await;
        assert!(!answer.is(400, None).text.contains("hush"), "{}", answer.text);
    }
    world.ask("GET", &last("b")).send().await.is(404, None);
}

#[tokio::test]
async fn credentials_are_taken_back_once() {
    let world = with_instance().await;
    world.bind("a", "b", "", &wanted()).await;
    let taken = world.unbind("a", "b", "").await;
    assert_eq!((taken.status, &taken.json), (200, &json!({})));
    world.unbind("a", "b", "").await.is(410, None);
    world.ask("GET", &binding("a", "b")).send().await.is(404, None);
    world.bind("a", "b", "", &wanted()).await.is(409, None);
    assert_eq!(world.ask("GET", &last("b")).send().await.json["state"], "succeeded");

    world.bind("a", "c", "", &wanted()).await;
    world.levers.hold(true);
    let first = world.unbind("a", "c", "&accepts_incomplete=true").await;
    assert_eq!(first.status, 202);
    assert_eq!(world.unbind("a", "c", "&accepts_incomplete=true").await.operation(), first.operation());
    world.bind("a", "c", LATER, &wanted()).await.is(422, BUSY);
    world.levers.hold(false);
    world.until_at(&last("c"), "succeeded").await;
    world.unbind("a", "c", "").await.is(410, None);
}

#[tokio::test]
async fn taking_back_what_is_being_made_stops_the_making() {
    let world = with_instance().await;
    world.levers.hold(true);
    let made = world.bind("a", "b", LATER, &wanted()).await;
    let taken = world.unbind("a", "b", "&accepts_incomplete=true").await;
    assert_eq!(taken.status, 202);
    assert_ne!(made.operation(), taken.operation());
    world.levers.hold(false);
    world.until_at(&last("b"), "succeeded").await;
    world.ask("GET", &binding("a", "b")).send().await.is(404, None);
    world.unbind("a", "b", "").await.is(410, None);
}

#[tokio::test]
async fn credentials_that_cannot_be_made_leave_nothing_behind() {
    let world = with_instance().await;
    world.levers.fail(true);
    let refused = world.bind("a", "b", "", &wanted()).await;
    assert!(refused.is(422, None).text.contains("the stage is on fire"), "{}", refused.text);
    world.unbind("a", "b", "").await.is(410, None);
    assert_eq!(world.bind("a", "c", LATER, &wanted()).await.status, 202);
    let failed = world.until_at(&last("c"), "failed").await;
    assert_eq!(failed.json, json!({"state": "failed", "description": "the stage is on fire"}));
    world.ask("GET", &binding("a", "c")).send().await.is(404, None);
    world.bind("a", "c", "", &wanted()).await.is(409, None);
    let refused = world.unbind("a", "c", "").await;
    assert!(refused.is(422, None).text.contains("revoked"), "{}", refused.text);
    world.levers.fail(false);
    assert_eq!(world.unbind("a", "c", "").await.status, 200);
}

#[tokio::test]
async fn who_wants_credentials_at_once_is_not_kept_waiting_for_ever() {
    let short = OsbSettings { bind_wait: Duration::from_millis(30), ..OsbSettings::default() };
    let world = broker_with(settings(short)).await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    let answer = world.ask("PUT", &binding("a", "b")).json(&wanted()).send_failing().await;
    answer.is(503, None);
    assert_eq!(answer.header("retry-after"), "1");
    world.levers.hold(false);
    world.until_at(&last("b"), "succeeded").await;
    assert_eq!(world.bind("a", "b", "", &wanted()).await.status, 200, "asking again finds them");
}

#[tokio::test]
async fn an_instance_with_live_bindings_is_not_deleted() {
    let world = with_instance().await;
    for bid in ["b", "c", "d"] {
        assert_eq!(world.bind("a", bid, "", &wanted()).await.status, 201);
    }
    world.levers.fail(true);
    world.bind("a", "failed", "", &wanted()).await.is(422, None);
    world.levers.fail(false);
    let refused = world.delete("a", SMALL).await;
    assert!(refused.is(422, None).text.contains("there are 3 bindings"), "{}", refused.text);
    assert_eq!(world.unbind("a", "b", "").await.status, 200);
    assert!(world.delete("a", SMALL).await.is(422, None).text.contains("there are 2 bindings"));
    assert_eq!(world.unbind("a", "d", "").await.status, 200);
    let one = "there is 1 binding of this service instance; unbind it first";
    assert!(world.delete("a", SMALL).await.is(422, None).text.contains(one));
    world.clock.turn(Duration::from_secs(901));
    world.ask("GET", &binding("a", "c")).send().await.is(404, None);
    world.bind("a", "c", "", &wanted()).await.is(409, None);
    assert_eq!(world.delete("a", SMALL).await.status, 202, "what has expired does not count");
}

#[tokio::test]
async fn a_binding_replaces_another_one() {
    let world = with_instance().await;
    world.bind("a", "old", "", &wanted()).await;
    let body = json!({"predecessor_binding_id": "old"});
    let new = world.bind("a", "new", "", &body).await;
    assert_eq!(new.status, 201, "{}", new.text);
    assert_eq!(new.json["parameters"], json!({"expiration_seconds": 900}), "as the old one had them");
    assert_eq!(world.bind("a", "new", "", &body).await.status, 200);
    assert_eq!(world.ask("GET", &binding("a", "old")).send().await.status, 200, "the old one stays");
    let whole = with(wanted(), &[("/predecessor_binding_id", json!("old"))]);
    assert_eq!(world.bind("a", "third", "", &whole).await.status, 201);
    world.bind("a", "fourth", "", &json!({"predecessor_binding_id": "never"})).await.is(404, None);
    world.bind("a", "fourth", "", &json!({})).await.is(400, None);
}

#[tokio::test]
async fn a_binding_is_independent_of_changes_to_its_instance_once_it_is_there() {
    let world = with_instance().await;
    world.bind("a", "b", "", &wanted()).await;
    world.levers.hold(true);
    let change = json!({"service_id": SERVICE, "parameters": {"autoScalerMax": 2}});
    assert_eq!(world.patch("a", &change).await.status, 202);
    assert_eq!(world.bind("a", "b", "", &wanted()).await.status, 200);
    assert_eq!(world.ask("GET", &binding("a", "b")).send().await.status, 200);
    world.bind("a", "c", LATER, &wanted()).await.is(422, BUSY);
}
