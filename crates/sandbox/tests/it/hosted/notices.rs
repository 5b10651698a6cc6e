//! How others hear of the end of a build: honestly, twice, late, and from people who lie.

use std::fmt::Write;

use aws_lc_rs::hmac;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, request};

const SECRET: &str = "0123456789abcdef";
const TOPIC: &str = "image-builder.compose.status";

/// Registers an inbox of the sandbox itself.
async fn listen(caller: &HostedClient) {
    let url = format!("{}/inbox/ib", caller.sandbox.url());
    caller.turn("/image-builder/callbacks", json!({"url": url, "secret": SECRET}), StatusCode::CREATED).await;
}

async fn letters(caller: &HostedClient, count: usize) -> Vec<Value> {
    let has_all = |seen: &Value| seen["messages"].as_array().is_some_and(|all| all.len() >= count);
    let mut seen = caller.until("/inbox/ib", has_all).await;
    serde_json::from_value(seen["messages"].take()).unwrap()
}

fn is_signed(letter: &Value, secret: &str) -> bool {
    let header = |name: &str| letter["headers"][name].as_str().unwrap_or_default();
    let signed = format!("{}.{}", header("provision-engine-timestamp"), letter["text"].as_str().unwrap());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, signed.as_bytes());
    let expected = tag.as_ref().iter().fold(String::from("v1="), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    });
    header("provision-engine-signature") == expected
}

#[tokio::test]
async fn the_one_who_registered_is_called_when_a_build_is_over() {
    let caller = HostedClient::in_a_hurry().await;
    listen(&caller).await;
    let id = caller.submit(&request()).await;
    let all = letters(&caller, 1).await;
    assert_eq!(all[0]["body"], json!({"compose_id": id, "status": "success"}));
    assert!(is_signed(&all[0], SECRET) && !is_signed(&all[0], "other"), "{all:?}");
    caller.turn("/image-builder/faults/fail", json!({}), StatusCode::CREATED).await;
    let id = caller.submit(&request()).await;
    assert_eq!(letters(&caller, 2).await[1]["body"], json!({"compose_id": id, "status": "failure"}));
}

#[tokio::test]
async fn a_notice_can_be_late_and_come_twice() {
    let caller = HostedClient::in_a_hurry().await;
    listen(&caller).await;
    let settings = json!({"delay_ms": 3_600_000, "copies": 2});
    caller.turn("/image-builder/notify", settings, StatusCode::NO_CONTENT).await;
    let late = caller.submit(&request()).await;
    assert_eq!(caller.status(&late).await["status"], "success");
    caller.turn("/image-builder/notify", json!({}), StatusCode::NO_CONTENT).await;
    let prompt = caller.submit(&request()).await;
    assert_eq!(letters(&caller, 1).await[0]["body"]["compose_id"], prompt);
    caller.turn("/image-builder/notify", json!({"copies": 2}), StatusCode::NO_CONTENT).await;
    caller.advance(3_600_000).await;
    let all = letters(&caller, 3).await;
    assert_eq!((&all[1]["body"]["compose_id"], &all[2]["body"]["compose_id"]), (&json!(late), &json!(late)));
}

#[tokio::test]
async fn callbacks_can_be_forged() {
    let caller = HostedClient::in_a_hurry().await;
    listen(&caller).await;
    for body in [
        json!({"compose_id": "x", "status": "success", "times": 2}),
        json!({"raw": "{not json"}),
        json!({"compose_id": "x", "secret": "wrong"}),
        json!({"compose_id": "x", "unsigned": true}),
        json!({"compose_id": "x", "timestamp": 1}),
        json!({"compose_id": "x", "signature": "v1=00"}),
    ] {
        caller.turn("/image-builder/callbacks/send", body, StatusCode::OK).await;
    }
    let all = letters(&caller, 7).await;
    let signed: Vec<bool> = all.iter().map(|letter| is_signed(letter, SECRET)).collect();
    assert_eq!(signed, [true, true, true, false, false, true, false]);
    assert_eq!(all[2]["text"], "{not json");
    assert!(is_signed(&all[3], "wrong"));
    assert_eq!(all[4]["headers"].get("provision-engine-signature"), None);
    assert_eq!(all[5]["headers"]["provision-engine-timestamp"], "1");
    let notices = caller.look("/image-builder/notices").await;
    assert_eq!(notices["notices"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn events_go_to_kafka_when_someone_wants_them() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/notify", json!({"events": true}), StatusCode::NO_CONTENT).await;
    let id = caller.submit(&request()).await;
    let is_sent = |seen: &Value| seen["notices"].as_array().is_some_and(|all| !all.is_empty());
    let notices = caller.until("/image-builder/notices", is_sent).await;
    assert_eq!(notices["notices"][0]["answer"], "published");
    for body in
        [json!({"compose_id": id, "org_id": "org-2", "status": "success"}), json!({"raw": "{", "key": "k"})]
    {
        caller.turn("/image-builder/events/send", body, StatusCode::OK).await;
    }
    let mut messages = caller.look(&format!("/kafka/{TOPIC}")).await;
    let messages: Vec<Value> = serde_json::from_value(messages["messages"].take()).unwrap();
    let with_key = |key: &str| -> Vec<&Value> { messages.iter().filter(|one| one["key"] == key).collect() };
    let payload = |message: &Value| -> Value {
        serde_json::from_str(message["payload"].as_str().unwrap()).unwrap_or_default()
    };
    let (about, garbled) = (with_key(&id), with_key("k"));
    assert_eq!((about.len(), garbled.len(), messages.len()), (2, 1, 3));
    let event = payload(about[0]);
    assert_eq!((&event["compose_id"], &event["org_id"]), (&json!(id), &json!("org-1")));
    assert_eq!((&event["status"], &event["upload"]["type"]), (&json!("success"), &json!("aws")));
    assert!(event["upload"]["options"]["ami"].as_str().unwrap().starts_with("ami-"), "{event}");
    assert!(event["event_id"].is_string() && event["occurred_at"].is_string(), "{event}");
    assert!(about[0]["headers"]["x-rh-identity"].is_string());
    assert_eq!((&payload(about[1])["org_id"], payload(garbled[0])), (&json!("org-2"), Value::Null));
    let cleared = caller.request(Method::DELETE, "/image-builder/callbacks").send().await.unwrap();
    assert_eq!(cleared.status(), StatusCode::NO_CONTENT);
}
