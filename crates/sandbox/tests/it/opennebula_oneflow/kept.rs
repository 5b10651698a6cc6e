//! Kept connections, which the web server of OneFlow 6.8 is not always ready for.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::caller::OneFlowClient;

const AUTHORIZATION: &str = "Basic Y29nbml0OmNvZ25pdHBhc3M=";
/// Longer than any answer takes.
const SILENCE: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(10);
/// No request is so late.
const NEVER_READY_MS: u64 = 3_600_000;

struct Connection {
    stream: TcpStream,
}

impl Connection {
    async fn open(caller: &OneFlowClient) -> Self {
        let addr = caller.sandbox.addr();
        let oneflow = SocketAddr::new(addr.ip(), addr.port() + 2);
        Connection { stream: TcpStream::connect(oneflow).await.unwrap() }
    }

    async fn ask(&mut self, request: &str, headers: &str) {
        let head =
            format!("{request} HTTP/1.1\r\nHost: oneflow\r\nAuthorization: {AUTHORIZATION}\r\n{headers}\r\n");
        self.stream.write_all(head.as_bytes()).await.unwrap();
    }

    /// Head and body; the body ends at its length, at the end of the connection, or after a silence.
    async fn answer(&mut self) -> (String, String) {
        let mut text = String::new();
        let mut part = [0; 4096];
        let mut patience = ANSWER;
        loop {
            if let Some((head, body)) = text.split_once("\r\n\r\n")
                && length(head).is_some_and(|length| body.len() >= length)
            {
                return (head.to_lowercase(), body.to_owned());
            }
            match timeout(patience, self.stream.read(&mut part)).await {
                Ok(Ok(read)) if read > 0 => text += str::from_utf8(&part[..read]).unwrap(),
                _ => {
                    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
                    return (head.to_lowercase(), body.to_owned());
                }
            }
            patience = SILENCE;
        }
    }

    async fn get(&mut self) -> (String, String) {
        self.ask("GET /service_template", "").await;
        self.answer().await
    }

    async fn is_silent(&mut self) -> bool {
        timeout(SILENCE, self.stream.read(&mut [0])).await.is_err()
    }
}

fn length(head: &str) -> Option<usize> {
    let head = head.to_lowercase();
    let (_, rest) = head.split_once("content-length: ")?;
    rest.lines().next()?.parse().ok()
}

/// One connection each, with an answer behind it and a request that comes too early.
async fn early(caller: &OneFlowClient, request: &str, headers: &str) -> Connection {
    let mut connection = Connection::open(caller).await;
    let (head, _) = connection.get().await;
    assert!(head.starts_with("http/1.1 200") && head.contains("connection: keep-alive"), "{head}");
    connection.ask(request, headers).await;
    connection
}

#[tokio::test]
async fn a_request_that_comes_at_once_on_a_kept_connection_is_refused_or_not_answered() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"kept_ready_ms": NEVER_READY_MS})).await;
    let mut refused = early(&caller, "GET /service_template", "").await;
    let (head, body) = refused.answer().await;
    assert!(head.starts_with("http/1.1 400 bad request") && head.contains("connection: close"), "{head}");
    assert_eq!(body, "Bad Request");
    assert_eq!(refused.stream.read(&mut [0]).await.unwrap(), 0);

    let body = json!({"action": {"perform": "instantiate"}}).to_string();
    let headers = format!("Content-Length: {}\r\n", body.len());
    let mut lost = early(&caller, "POST /service_template/0/action", &(headers + "\r\n" + &body)).await;
    assert!(lost.is_silent().await);
    assert!(caller.standing().await.contains(&"oneflow/service 20".to_owned()));

    let mut cut = early(&caller, "GET /service_template", "").await;
    let (head, half) = cut.answer().await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(half.len(), length(&head).unwrap() / 2);
}

#[tokio::test]
async fn a_request_with_connection_close_or_on_a_new_connection_is_always_answered() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"kept_ready_ms": NEVER_READY_MS})).await;
    for _ in 0..5 {
        let mut connection = Connection::open(&caller).await;
        connection.ask("GET /service_template", "Connection: close\r\n").await;
        let (head, body) = connection.answer().await;
        assert!(head.starts_with("http/1.1 200") && head.contains("connection: close"), "{head}");
        assert_eq!(Some(body.len()), length(&head));
        assert_eq!(connection.stream.read(&mut [0]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_request_that_comes_later_on_a_kept_connection_is_answered() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"kept_ready_ms": 1})).await;
    let mut connection = Connection::open(&caller).await;
    for _ in 0..3 {
        let (head, _) = connection.get().await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_answer_without_a_body_ends_its_connection() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("Function", json!({})).await;
    caller.until(id, 2).await;
    let mut connection = Connection::open(&caller).await;
    connection.ask(&format!("DELETE /service/{id}"), "").await;
    let (head, _) = connection.answer().await;
    assert!(head.starts_with("http/1.1 204") && head.contains("connection: close"), "{head}");
}

#[tokio::test]
async fn the_sandbox_stops_while_a_request_hangs() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"kept_ready_ms": NEVER_READY_MS})).await;
    let mut hanging = Vec::new();
    for _ in 0..3 {
        hanging.push(early(&caller, "GET /service_template", "").await);
    }
    timeout(Duration::from_secs(4), caller.sandbox.stop()).await.unwrap();
}
