//! Inboxes and Kafka, as their callers see them.

use reqwest::{Client, Method, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

struct KafkaTestClient {
    client: Client,
    sandbox: Sandbox,
}

impl KafkaTestClient {
    async fn new() -> Self {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        KafkaTestClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> reqwest::Result<(StatusCode, Value)> {
        let request = self.client.request(method, format!("{}{path}", self.sandbox.url())).json(body);
        let answer = request.header("Idempotency-Key", "id-1").send().await?;
        Ok((answer.status(), answer.json().await.unwrap_or_default()))
    }

    async fn status(&self, method: Method, path: &str, body: Value) -> StatusCode {
        self.call(method, path, &body).await.unwrap().0
    }

    async fn messages(&self, path: &str) -> Vec<Value> {
        let (status, list) = self.call(Method::GET, path, &Value::Null).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{list}");
        list["messages"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn an_inbox_keeps_every_delivery_with_its_headers() {
    let caller = KafkaTestClient::new().await;
    for _ in 0..2 {
        let status = caller.status(Method::POST, "/inbox/a", json!({"b": 1})).await;
        assert_eq!(status, StatusCode::NO_CONTENT);
    }
    let kept = caller.messages("/inbox/a").await;
    assert_eq!(kept.len(), 2);
    for letter in kept {
        assert_eq!((&letter["body"]["b"], &letter["text"]), (&json!(1), &json!(r#"{"b":1}"#)));
        assert_eq!(letter["headers"]["idempotency-key"], "id-1");
    }
    assert!(caller.messages("/inbox/b").await.is_empty());
    assert_eq!(caller.status(Method::DELETE, "/inbox/a", Value::Null).await, StatusCode::NO_CONTENT);
    assert!(caller.messages("/inbox/a").await.is_empty());
}

#[tokio::test]
async fn a_fault_hits_who_delivers_and_not_who_looks() {
    let caller = KafkaTestClient::new().await;
    for fault in [json!({"kind": "error", "status": 500}), json!({"kind": "drop_after"})] {
        let mut fault = fault;
        fault["system"] = json!("inbox");
        assert_eq!(caller.status(Method::POST, "/faults", fault).await, StatusCode::CREATED);
    }
    assert!(caller.messages("/inbox/a").await.is_empty());
    let refused = caller.status(Method::POST, "/inbox/a", json!(1)).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(caller.messages("/inbox/a").await.is_empty());
    assert!(caller.call(Method::POST, "/inbox/a", &json!(2)).await.is_err());
    assert_eq!(caller.messages("/inbox/a").await[0]["body"], 2, "it arrived, and the answer was lost");
}

#[tokio::test]
async fn messages_of_kafka_can_be_written_listed_and_cleared_away() {
    let caller = KafkaTestClient::new().await;
    let (_, shown) = caller.call(Method::GET, "/kafka", &Value::Null).await.unwrap();
    assert_eq!(shown["bootstrap"], json!(caller.sandbox.kafka()));
    assert!(caller.messages("/kafka/nowhere").await.is_empty());
    assert!(caller.messages("/kafka/image-builder.compose.status").await.is_empty());
    for number in 0..3 {
        let message = json!({"key": "k", "payload": format!("p{number}"), "headers": {"h": "v"}});
        assert_eq!(caller.status(Method::POST, "/kafka/t", message).await, StatusCode::CREATED);
    }
    let payloads = |list: &[Value]| list.iter().map(|one| one["payload"].clone()).collect::<Vec<_>>();
    let listed = caller.messages("/kafka/t").await;
    assert_eq!(payloads(&listed), ["p0", "p1", "p2"]);
    assert_eq!((&listed[0]["key"], &listed[0]["headers"]), (&json!("k"), &json!({"h": "v"})));
    assert_eq!(caller.messages("/kafka/t").await.len(), 3, "to look takes nothing away");
    assert_eq!(caller.status(Method::DELETE, "/kafka/t", Value::Null).await, StatusCode::NO_CONTENT);
    assert!(caller.messages("/kafka/t").await.is_empty());
    caller.status(Method::POST, "/kafka/t", json!({"payload": "p3"})).await;
    assert_eq!(payloads(&caller.messages("/kafka/t").await), ["p3"]);
}

#[tokio::test]
async fn brokers_can_be_taken_down_and_up() {
    let caller = KafkaTestClient::new().await;
    let switch = |down: bool| caller.status(Method::PUT, "/kafka", json!({"down": down}));
    assert_eq!(caller.status(Method::POST, "/kafka/t", json!({"payload": "a"})).await, StatusCode::CREATED);
    assert_eq!(switch(true).await, StatusCode::NO_CONTENT);
    let down = caller.status(Method::POST, "/kafka/t", json!({"payload": "b"})).await;
    assert_eq!(down, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(switch(false).await, StatusCode::NO_CONTENT);
    while caller.status(Method::POST, "/kafka/t", json!({"payload": "c"})).await != StatusCode::CREATED {}
    assert!(caller.messages("/kafka/t").await.iter().any(|one| one["payload"] == "c"));
}
