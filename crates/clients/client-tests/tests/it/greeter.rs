//! The greeter driver against the sandbox, in good times and in bad ones.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use greeter::{Greeter, HttpGreeter};
use http_client::DriverError;
use reqwest::Client;
use sandbox::Sandbox;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const TIMEOUT: Duration = Duration::from_secs(30);

struct GreeterFixture {
    sandbox: Sandbox,
    greeter: HttpGreeter,
    client: Client,
}

impl GreeterFixture {
    async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let greeter = HttpGreeter::new(&sandbox.url(), TIMEOUT).unwrap();
        GreeterFixture { sandbox, greeter, client: Client::builder().no_proxy().build().unwrap() }
    }

    async fn arm(&self, mut fault: Value) {
        fault["system"] = json!("greeter");
        let request = self.client.post(format!("{}/faults", self.sandbox.url())).json(&fault);
        assert_eq!(request.send().await.unwrap().status(), 201);
    }

    /// The next greeting goes wrong; returns how.
    async fn error_after(&self, fault: Value) -> DriverError {
        self.arm(fault).await;
        self.greeter.greet("t1", "Ada").await.unwrap_err()
    }

    async fn summary(&self) -> Value {
        let url = format!("{}/ledger/summary", self.sandbox.url());
        let body: Value = self.client.get(url).send().await.unwrap().json().await.unwrap();
        body["greeter/greet"].clone()
    }
}

#[tokio::test]
async fn a_greeting_is_made_once_found_and_forgotten() {
    let fixture = GreeterFixture::new().await;
    assert!(fixture.greeter.find("t1").await.unwrap().is_none());
    let first = fixture.greeter.greet("t1", "Ada").await.unwrap();
    let again = fixture.greeter.greet("t1", "Ada").await.unwrap();
    let found = fixture.greeter.find("t1").await.unwrap().unwrap();
    assert_eq!(first.text, "Hello, Ada!");
    for other in [&again, &found] {
        assert_eq!(other.text, first.text);
        assert_eq!(other.token.expose_secret(), first.token.expose_secret());
    }
    assert!(!format!("{first:?}").contains(first.token.expose_secret()));
    fixture.greeter.forget("t1").await.unwrap();
    fixture.greeter.forget("t1").await.unwrap();
    assert!(fixture.greeter.find("t1").await.unwrap().is_none());
    assert_eq!(fixture.summary().await, json!({"made": 1, "taken_back": 1, "standing": 0, "repeats": 1}));
}

#[tokio::test]
async fn odd_tokens_arrive_as_they_are() {
    let fixture = GreeterFixture::new().await;
    for token in ["a/b", "../x", "50%", "a b", "?q#f", "%2F"] {
        fixture.greeter.greet(token, "Ada").await.unwrap();
        assert!(fixture.greeter.find(token).await.unwrap().is_some(), "{token}");
        fixture.greeter.forget(token).await.unwrap();
    }
    assert_eq!(fixture.summary().await["standing"], 0);
    for token in ["", ".", "..", "line\nbreak", "ümlaut"] {
        let error = fixture.greeter.greet(token, "Ada").await.unwrap_err();
        assert!(matches!(error, DriverError::Refused { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_error_carries_the_external_systems_words() {
    let fixture = GreeterFixture::new().await;
    fixture.greeter.greet("t1", "Ada").await.unwrap();
    let error = fixture.greeter.greet("t1", "Bob").await.unwrap_err();
    assert_eq!(error.to_string(), "greeter refused: this Idempotency-Key was used with another body");
    let error = fixture.greeter.greet("t2", "").await.unwrap_err();
    assert_eq!(error.to_string(), "greeter refused: name must have 1 to 200 characters");
}

#[tokio::test]
async fn a_lost_answer_is_adopted_by_the_next_try() {
    let fixture = GreeterFixture::new().await;
    let error = fixture.error_after(json!({"kind": "drop_after"})).await;
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
    assert!(fixture.greeter.find("t1").await.unwrap().is_some());
    fixture.greeter.greet("t1", "Ada").await.unwrap();
    assert_eq!(fixture.summary().await, json!({"made": 1, "taken_back": 0, "standing": 1, "repeats": 1}));
}

#[tokio::test]
async fn faults_come_back_sorted() {
    let fixture = GreeterFixture::new().await;
    let error = fixture.error_after(json!({"kind": "drop_before"})).await;
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
    let error = fixture.error_after(json!({"kind": "garbage"})).await;
    assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
    let error = fixture.error_after(json!({"kind": "error", "status": 500})).await;
    assert_eq!(error.to_string(), "greeter is broken: 500 Internal Server Error: a scripted fault");
    let error = fixture.error_after(json!({"kind": "error"})).await;
    assert!(matches!(error, DriverError::Broken { .. }), "{error:?}");
    let error = fixture.error_after(json!({"kind": "error", "retry_after_s": 9})).await;
    assert_eq!(error, DriverError::Throttled { system: "greeter", retry_after: Duration::from_secs(9) });
    let error = fixture.error_after(json!({"kind": "error", "status": 429, "retry_after_s": 9999})).await;
    assert_eq!(error, DriverError::Throttled { system: "greeter", retry_after: Duration::from_mins(5) });
    let error = fixture.error_after(json!({"kind": "error", "status": 403})).await;
    assert_eq!(error.to_string(), "greeter refused: a scripted fault");
    assert_eq!(fixture.summary().await, Value::Null);

    fixture.arm(json!({"kind": "latency", "latency_ms": 20})).await;
    fixture.greeter.greet("t1", "Ada").await.unwrap();
}

#[tokio::test]
async fn finding_and_forgetting_suffer_like_greeting() {
    let fixture = GreeterFixture::new().await;
    fixture.greeter.greet("t1", "Ada").await.unwrap();
    fixture.arm(json!({"kind": "error", "times": 2})).await;
    assert!(matches!(fixture.greeter.find("t1").await, Err(DriverError::Broken { .. })));
    assert!(matches!(fixture.greeter.forget("t1").await, Err(DriverError::Broken { .. })));
    fixture.arm(json!({"kind": "garbage", "times": 2})).await;
    assert!(matches!(fixture.greeter.find("t1").await, Err(DriverError::Broken { .. })));
    assert!(matches!(fixture.greeter.forget("t1").await, Err(DriverError::Broken { .. })));
    assert_eq!(fixture.summary().await["standing"], 1);
    fixture.arm(json!({"kind": "drop_after", "method": "DELETE"})).await;
    assert!(matches!(fixture.greeter.forget("t1").await, Err(DriverError::Unreachable { .. })));
    fixture.greeter.forget("t1").await.unwrap();
    assert_eq!(fixture.summary().await["standing"], 0);
}

#[tokio::test]
async fn silence_ends_with_the_timeout() {
    let fixture = GreeterFixture::new().await;
    let impatient = HttpGreeter::new(&fixture.sandbox.url(), Duration::from_millis(20)).unwrap();
    fixture.arm(json!({"kind": "latency", "latency_ms": 30_000, "times": 0})).await;
    let error = impatient.greet("t1", "Ada").await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn no_one_at_home_is_unreachable() {
    let fixture = GreeterFixture::new().await;
    fixture.greeter.greet("t1", "Ada").await.unwrap();
    fixture.sandbox.stop().await;
    for _ in 0..2 {
        let error = fixture.greeter.greet("t1", "Ada").await.unwrap_err();
        assert!(matches!(&error, DriverError::Unreachable { .. }), "{error:?}");
        assert!(!error.to_string().contains("127.0.0.1"), "{error}");
    }
    let error = fixture.greeter.greet("t1", "Ada").await.unwrap_err();
    assert!(error.to_string().contains("onnection refused"), "{error}");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let url = fake(|mut socket| async move {
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while socket.write_all(&[b'x'; 4096]).await.is_ok() {}
    });
    let error = HttpGreeter::new(&url.await, TIMEOUT).unwrap().find("t1").await.unwrap_err();
    assert_eq!(error.to_string(), "greeter is broken: the answer is longer than 4194304 bytes");
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let url = fake(|mut socket| async move {
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"text\":").await.unwrap();
        socket.shutdown().await.unwrap();
        read_to_the_end(socket).await;
    });
    let error = HttpGreeter::new(&url.await, TIMEOUT).unwrap().find("t1").await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let fixture = GreeterFixture::new().await;
    let target = fixture.sandbox.url();
    let url = fake(move |mut socket| async move {
        let status = "HTTP/1.1 307 Temporary Redirect\r\ncontent-length: 0";
        let answer = format!("{status}\r\nlocation: {target}/greeter/greetings\r\n\r\n");
        socket.write_all(answer.as_bytes()).await.unwrap();
        read_to_the_end(socket).await;
    });
    let error = HttpGreeter::new(&url.await, TIMEOUT).unwrap().greet("t1", "Ada").await.unwrap_err();
    assert_eq!(error.to_string(), "greeter is broken: 307 Temporary Redirect was not expected");
    assert_eq!(fixture.summary().await, Value::Null);
}

/// An external system that answers one call in a way that no decent server would. Returns its URL.
async fn fake<A>(answer: impl FnOnce(TcpStream) -> A + Send + 'static) -> String
where
    A: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        assert_ne!(socket.read(&mut [0; 4096]).await.unwrap(), 0);
        answer(socket).await;
    });
    url
}

/// A socket that is closed with unread bytes is reset, and then the caller may not see the answer.
async fn read_to_the_end(mut socket: TcpStream) {
    while socket.read(&mut [0; 4096]).await.is_ok_and(|count| count > 0) {}
}
