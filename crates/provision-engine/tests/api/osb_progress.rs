//! What platforms hear while they wait.

use std::sync::atomic::Ordering;

use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::DEPROVISION;
use engine::store::Expect;
use engine::{Command, PhaseVerb, RecordWrites};
use serde_json::json;

use crate::osb_world::{
    BrokerFixture, SERVICE, SMALL, binding, broker, broker_with, instance, settings, wanted,
};
use crate::shaky_store::Mood;

#[tokio::test]
async fn the_step_and_what_it_waits_for_are_told() {
    let world = broker().await;
    world.levers.hold(true);
    world.put("a", &wanted(SMALL)).await;
    let mut told = String::new();
    for _ in 0..1000 {
        let last = world.last("a").await;
        last.json["description"].as_str().unwrap().clone_into(&mut told);
        assert_eq!(last.json["state"], "in progress");
        assert!(!told.is_empty());
        if told == "Playing the part: the curtain is down" {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("{told}");
}

#[tokio::test]
async fn any_operation_of_the_instance_can_be_asked_for_and_nonsense_means_the_newest() {
    let world = broker().await;
    let first = world.put("a", &wanted(SMALL)).await.operation().to_owned();
    world.until("a", "succeeded").await;
    world.made("other", SMALL).await;
    let foreign = world.engine.resource("runtime:other").await.unwrap().unwrap().operation.unwrap();
    world.levers.fail(true);
    let change = json!({"service_id": SERVICE, "parameters": {"name": "m"}});
    let second = world.patch("a", &change).await.operation().to_owned();
    world.until("a", "failed").await;
    let path = format!("{}/last_operation", instance("a"));
    for (query, state) in [
        (format!("?operation={first}"), "succeeded"),
        (format!("?operation={second}"), "failed"),
        (format!("?operation={second}&operation={first}"), "failed"),
        (format!("?operation={foreign}"), "failed"),
        (format!("?operation={}", uuid_like()), "failed"),
        ("?operation=nonsense".to_owned(), "failed"),
        ("?operation=".to_owned(), "failed"),
        ("?operation=%ff%00".to_owned(), "failed"),
        ("?service_id=x&plan_id=y".to_owned(), "failed"),
        ("?&&=&%".to_owned(), "failed"),
    ] {
        let answer = world.ask("GET", &format!("{path}{query}")).send().await;
        assert_eq!(
            (answer.status, answer.json["state"].as_str()),
            (200, Some(state)),
            "{query}: {}",
            answer.text
        );
    }
}

fn uuid_like() -> &'static str {
    "ffffffff-ffff-ffff-ffff-ffffffffffff"
}

#[tokio::test]
async fn an_operation_that_an_operator_holds_is_still_in_progress() {
    let world = broker().await;
    world.levers.hold(true);
    let operation = world.put("a", &wanted(SMALL)).await.operation().to_owned();
    world.engine.ask(operation.parse().unwrap(), PhaseVerb::Pause, "oscar", "").await.unwrap();
    for _ in 0..1000 {
        let last = world.last("a").await;
        assert_eq!(last.json["state"], "in progress");
        if last.json["description"].as_str().unwrap().starts_with("an operator holds it") {
            world.delete("a", SMALL).await.is(202, None);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("it never was held");
}

#[tokio::test]
async fn a_platform_that_asks_while_the_database_is_down_is_told_to_come_back() {
    let world = broker().await;
    world.made("a", SMALL).await;
    world.store.be(Mood::Down);
    let answer = world.ask("GET", &format!("{}/last_operation", instance("a"))).send_failing().await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    world.store.be(Mood::Well);
    assert_eq!(world.last("a").await.json["state"], "succeeded");
}

#[tokio::test]
async fn asking_how_it_stands_is_cheap() {
    let world = broker().await;
    world.levers.hold(true);
    let operation = world.put("a", &wanted(SMALL)).await.operation().to_owned();
    let path = format!("{}/last_operation?operation={operation}", instance("a"));
    let reads = async || {
        let before = world.store.reads.load(Ordering::SeqCst);
        let answer = world.ask("GET", &path).send().await;
        (answer.json["state"].as_str().unwrap().to_owned(), world.store.reads.load(Ordering::SeqCst) - before)
    };
    assert_eq!(reads().await, ("in progress".to_owned(), 2));
    world.levers.hold(false);
    world.until("a", "succeeded").await;
    assert_eq!(reads().await, ("succeeded".to_owned(), 1));
}

async fn where_the_deleted_is_gone() -> BrokerFixture {
    broker_with(settings(OsbSettings { gone: true, ..OsbSettings::default() })).await
}

/// The record is read, then the deletion ends, then the operation is read.
async fn asked_while_it_ends(world: &BrokerFixture, path: &str) {
    world.store.lists_late.store(true, Ordering::SeqCst);
    let ends = async {
        world.store.late_list.notified().await;
        world.levers.hold(false);
    };
    let (answer, ()) = tokio::join!(world.ask("GET", path).send(), ends);
    assert_eq!(answer.json["state"], "in progress", "{}", answer.text);
    world.store.lists_late.store(false, Ordering::SeqCst);
    world.ask("GET", path).send().await.is(410, None);
}

#[tokio::test]
async fn a_deletion_that_ends_between_two_reads_is_no_success() {
    let world = where_the_deleted_is_gone().await;
    world.made("a", SMALL).await;
    world.levers.hold(true);
    let operation = world.delete("a", SMALL).await.operation().to_owned();
    asked_while_it_ends(&world, &format!("{}/last_operation?operation={operation}", instance("a"))).await;
}

#[tokio::test]
async fn an_unbinding_that_ends_between_two_reads_is_no_success() {
    let world = where_the_deleted_is_gone().await;
    world.made("a", SMALL).await;
    let body = json!({"service_id": SERVICE, "plan_id": SMALL});
    world.bind("a", "b", "", &body).await.is(201, None);
    world.levers.hold(true);
    world.unbind("a", "b", "&accepts_incomplete=true").await.is(202, None);
    asked_while_it_ends(&world, &format!("{}/last_operation", binding("a", "b"))).await;
}

#[tokio::test]
async fn a_deletion_that_a_later_clean_up_follows_is_gone_as_well() {
    let world = where_the_deleted_is_gone().await;
    let made = world.put("a", &wanted(SMALL)).await.operation().to_owned();
    world.until("a", "succeeded").await;
    let deleted = world.delete("a", SMALL).await.operation().to_owned();
    let path = |operation: &str| format!("{}/last_operation?operation={operation}", instance("a"));
    world.store.until_end_of("runtime:a").await;
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    let again = Command {
        name: None,
        workflow: DEPROVISION.into(),
        tenant: row.tenant.clone(),
        resource: Some(row.name.clone()),
        params: json!({"instance_id": "a"}),
        by: "sweep".into(),
        idempotency_key: None,
        queue: false,
    };
    let along =
        RecordWrites { subject: Some((Expect::Version(row.version), None)), ..RecordWrites::default() };
    let later = world.engine.accept(again, along).await.unwrap().id.to_string();
    for operation in [&deleted, &later] {
        world.ask("GET", &path(operation)).send().await.is(410, None);
    }
    assert_eq!(world.ask("GET", &path(&made)).send().await.json["state"], "succeeded");
}
