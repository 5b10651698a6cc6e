//! What the tests of several clients share: a sandbox with its controls, a server that answers as told, and a clock.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Router, body};
use engine::{Clock, Timestamp};
use reqwest::{Client, RequestBuilder};
use sandbox::Sandbox;
use serde_json::{Value, json};

pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A sandbox of its own, and a client for its controls.
pub struct TestSandbox {
    pub sandbox: Sandbox,
    pub client: Client,
}

impl TestSandbox {
    pub async fn new() -> TestSandbox {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        TestSandbox { sandbox, client: Client::builder().no_proxy().build().unwrap() }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.sandbox.url())
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(self.url(path)).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) {
        send(self.client.post(self.url(path)).json(body)).await;
    }

    pub async fn put(&self, path: &str, body: &Value) {
        send(self.client.put(self.url(path)).json(body)).await;
    }

    pub async fn arm(&self, system: &str, mut fault: Value) {
        fault["system"] = json!(system);
        self.post("/faults", &fault).await;
    }
}

async fn send(request: RequestBuilder) {
    let answer = request.send().await.unwrap();
    let (status, url) = (answer.status(), answer.url().clone());
    assert!(status.is_success(), "{url}: {}", answer.text().await.unwrap());
}

#[derive(Default)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }

    fn chance(&self) -> u64 {
        0
    }
}

/// A request as it arrived.
pub struct Arrival {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A server that writes down what arrives and answers as it is told.
pub struct TestServer {
    pub url: String,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl TestServer {
    pub async fn start(answer: impl Fn(&Arrival) -> Response + Clone + Send + Sync + 'static) -> TestServer {
        let arrivals = Arc::<Mutex<Vec<Arrival>>>::default();
        let seen = Arc::clone(&arrivals);
        let router = Router::new().fallback(move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let path = parts.uri.path_and_query().unwrap().to_string();
            let body = body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
            let method = parts.method.to_string();
            let arrival = Arrival { method, path, headers: parts.headers, body };
            let response = answer(&arrival);
            seen.lock().unwrap().push(arrival);
            response
        });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        TestServer { url, arrivals }
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.arrivals.lock().unwrap())
    }
}

/// A server that has one answer to everything. Returns its URL.
pub async fn answering(status: u16, body: impl Into<String>) -> String {
    let (status, body) = (StatusCode::from_u16(status).unwrap(), body.into());
    TestServer::start(move |_| (status, body.clone()).into_response()).await.url
}
