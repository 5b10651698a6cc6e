//! Live events.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use serde_json::{Value, json};
use server::StreamLimits;

use crate::shaky_store::Mood;
use crate::world::{ApiFixture, settings, world, world_with};

/// One event as a browser would see it.
#[derive(Debug, Clone, PartialEq)]
struct BrowserEvent {
    id: Option<u32>,
    kind: String,
    data: Value,
}

struct StreamReader {
    body: BodyDataStream,
    text: String,
}

impl StreamReader {
    fn new(body: Body) -> StreamReader {
        StreamReader { body: body.into_data_stream(), text: String::new() }
    }

    /// The next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<BrowserEvent> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                match parse(&frame) {
                    Some(seen) => return Some(seen),
                    None => continue,
                }
            }
            let chunk = tokio::time::timeout(Duration::from_secs(5), self.body.next()).await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }

    async fn rest(&mut self) -> Vec<BrowserEvent> {
        let mut all = Vec::new();
        while let Some(seen) = self.next().await {
            all.push(seen);
        }
        all
    }
}

fn parse(frame: &str) -> Option<BrowserEvent> {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = field("data")?;
    Some(BrowserEvent {
        id: field("id").map(|id| id.parse().unwrap()),
        kind: field("event").unwrap().to_owned(),
        data: serde_json::from_str(data).unwrap(),
    })
}

async fn open(world: &ApiFixture, id: &str, after: Option<u32>) -> StreamReader {
    let mut call = world.call("GET", &format!("/operations/{id}/events")).token(&world.reader);
    if let Some(after) = after {
        call = call.header("last-event-id", &after.to_string());
    }
    let response = call.open().await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert!(response.headers().contains_key("x-request-id"));
    StreamReader::new(response.into_body())
}

#[tokio::test]
async fn a_stream_tells_everything_as_it_happens_and_then_ends() {
    let world = world().await;
    let id = world.submit(json!({"then": "wait", "key": "k"})).await;
    let mut reader = open(&world, &id, None).await;
    let mut seen = vec![reader.next().await.unwrap()];
    while seen.last().unwrap().kind != "waited" {
        seen.push(reader.next().await.unwrap());
    }
    world.call("POST", "/signals/k").token(&world.operator).send().await;
    seen.extend(reader.rest().await);
    let end = seen.pop().unwrap();
    assert_eq!((end.kind.as_str(), end.id, end.data), ("end", None, json!({"phase": "succeeded"})));
    assert_eq!(seen.last().unwrap().kind, "finished");
    let journal = world.get(&format!("/operations/{id}/journal")).await.json;
    let told: Vec<Value> = seen.iter().map(|seen| seen.data.clone()).collect();
    assert_eq!(Value::Array(told), journal["items"], "a stream and a journal say the same");
    for (number, seen) in (1..).zip(&seen) {
        assert_eq!((seen.id, seen.data["kind"].as_str()), (Some(number), Some(seen.kind.as_str())));
    }
}

#[tokio::test]
async fn who_was_cut_off_goes_on_where_it_stopped() {
    let world = world().await;
    let id = world.run_until(json!({"then": "succeed"}), "succeeded").await;
    let all = open(&world, &id, None).await.rest().await;
    for cut in 0..all.len() {
        let after = u32::try_from(cut).unwrap();
        assert_eq!(open(&world, &id, Some(after)).await.rest().await, all[cut..], "after {cut}");
        let path = format!("/operations/{id}/events?after={after}");
        let response = world.call("GET", &path).token(&world.reader).open().await;
        assert_eq!(StreamReader::new(response.into_body()).rest().await, all[cut..], "after {cut}");
    }
    let beyond = open(&world, &id, Some(u32::MAX)).await.rest().await;
    assert_eq!(beyond.len(), 1, "only the end is left: {beyond:?}");
    for bad in ["x", "-1", "4294967296", ""] {
        let call = world.call("GET", &format!("/operations/{id}/events")).token(&world.reader);
        let answer = call.header("last-event-id", bad).send().await.is(400, "invalid-parameter");
        assert_eq!(answer.json["parameter"], "Last-Event-ID");
    }
}

#[tokio::test]
async fn a_revived_operation_streams_on_to_its_next_end() {
    let world = world().await;
    let id = world.run_until(json!({"then": "fail"}), "undone").await;
    world.call("POST", &format!("/operations/{id}/retry")).token(&world.operator).send().await;
    world.until(&id, "undone").await;
    let all = open(&world, &id, None).await.rest().await;
    assert_eq!(all.iter().filter(|seen| seen.kind == "finished").count(), 2);
    assert_eq!(all.iter().filter(|seen| seen.kind == "end").count(), 1);
}

#[tokio::test]
async fn an_operation_that_is_about_to_start_again_has_not_ended() {
    let world = world().await;
    let id = world.run_until(json!({"then": "fail"}), "undone").await;
    // No node works any more, so that the control request is in the row and not yet in the journal.
    world.engine.stop(Duration::ZERO).await;
    let retry = world.call("POST", &format!("/operations/{id}/retry")).token(&world.operator).send().await;
    assert_eq!((retry.status, &retry.json["phase"]), (202, &json!("pending")));
    let mut reader = open(&world, &id, None).await;
    while reader.next().await.unwrap().kind != "finished" {}
    let quiet = tokio::time::timeout(Duration::from_millis(40), reader.next()).await;
    assert!(quiet.is_err(), "the stream goes on: {quiet:?}");
}

#[tokio::test]
async fn events_of_another_node_are_found_by_looking() {
    let world = world().await;
    let other = engine::Engine::builder(
        world.store.clone(),
        world.clock.clone(),
        engine::secret::SharedRing::new(engine::secret::KeyRing::generate()),
    )
    .workflow(crate::letters::plan())
    .build();
    other.start(None).await.unwrap();
    let command = engine::Command {
        name: None,
        workflow: "test.letters".into(),
        tenant: "default".into(),
        resource: None,
        params: json!({"then": "wait", "key": "far"}),
        by: "far".into(),
        idempotency_key: None,
        queue: false,
    };
    let id = other.submit_json(command).await.unwrap().id.to_string();
    world.until(&id, "waiting").await;
    let mut reader = open(&world, &id, None).await;
    while reader.next().await.unwrap().kind != "waited" {}
    other.signal("far", Value::Null).await.unwrap();
    assert_eq!(reader.rest().await.last().unwrap().kind, "end");
}

#[tokio::test]
async fn only_so_many_streams_are_open_at_a_time() {
    let world = world_with(server::ServerSettings {
        streams: StreamLimits { all: 2, per_principal: 2 },
        ..settings()
    })
    .await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let (first, _second) = (open(&world, &id, None).await, open(&world, &id, None).await);
    let refused = world.get(&format!("/operations/{id}/events")).await.is(503, "too-many-streams");
    assert_eq!(refused.header("retry-after"), "1");
    drop(first);
    open(&world, &id, None).await;
}

/// A token that opens as many streams as it may leaves the others to the other users.
#[tokio::test]
async fn one_principal_takes_its_share_of_the_streams_and_no_more() {
    let limits = StreamLimits { all: 3, per_principal: 2 };
    let world = world_with(server::ServerSettings { streams: limits, ..settings() }).await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let (first, _second) = (open(&world, &id, None).await, open(&world, &id, None).await);
    let path = format!("/operations/{id}/events");
    let refused = world.call("GET", &path).token(&world.reader).send().await.is(503, "too-many-streams");
    assert!(refused.json["detail"].as_str().unwrap().contains("you have 2 event streams open"));
    assert_eq!(refused.header("retry-after"), "1");
    let other = world.call("GET", &path).token(&world.operator).open().await;
    assert_eq!(other.status(), 200, "another principal still gets a stream");
    let full = world.call("GET", &path).token(&world.admin).send().await.is(503, "too-many-streams");
    assert!(full.json["detail"].as_str().unwrap().contains("no more event streams"));
    drop(first);
    open(&world, &id, None).await;
}

#[tokio::test]
async fn a_stream_outlives_a_database_that_does_not_answer() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let mut reader = open(&world, &id, None).await;
    while reader.next().await.unwrap().kind != "waited" {}
    world.store.be(Mood::Down);
    let quiet = tokio::time::timeout(Duration::from_millis(40), reader.next()).await;
    assert!(quiet.is_err(), "the stream stays open: {quiet:?}");
    world.store.be(Mood::Well);
    world.call("POST", "/signals/k").token(&world.operator).send().await;
    assert_eq!(reader.rest().await.last().unwrap().kind, "end");
}

#[tokio::test]
async fn streams_close_without_an_end_when_the_process_stops_or_their_life_is_over() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let mut old = open(&world, &id, None).await;
    while old.next().await.unwrap().kind != "waited" {}
    world.clock.turn(Duration::from_secs(15 * 60));
    assert_eq!(old.rest().await, []);
    let mut reader = open(&world, &id, None).await;
    while reader.next().await.unwrap().kind != "waited" {}
    world.closing.cancel();
    assert_eq!(reader.rest().await, []);
}

#[tokio::test]
async fn the_head_of_a_stream_can_be_asked_for() {
    let world = world().await;
    let id = world.run_until(json!({"then": "wait", "key": "k"}), "waiting").await;
    let head = world.call("HEAD", &format!("/operations/{id}/events")).token(&world.reader).send().await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
