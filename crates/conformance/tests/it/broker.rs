//! A small broker on loopback: the API with its order of checks, and a place to spoil every answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use conformance::{BrokerTarget, HoldSwitch};
use serde_json::{Value, json};

use crate::catalog::CATALOG;
use crate::instances::{Habits, Instances};

const LOGIN: &str = "Basic dGVzdGVyOnRlc3Rlci1wYXNzd29yZA==";

const BODY_BYTES_MAX: usize = 2 << 20;

/// One answer before it goes out.
#[derive(Debug, Clone)]
pub(crate) struct BrokerReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl BrokerReply {
    pub(crate) fn new(status: u16, body: Value) -> BrokerReply {
        BrokerReply { status, body, headers: vec![("content-type", "application/json".to_owned())] }
    }

    pub(crate) fn error(status: u16, description: &str) -> BrokerReply {
        BrokerReply::new(status, json!({ "description": description }))
    }

    pub(crate) fn code(error: &str) -> BrokerReply {
        BrokerReply::new(422, json!({ "error": error, "description": format!("refused: {error}") }))
    }

    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
    }
}

/// One request as the broker understood it.
#[derive(Debug, Clone)]
pub(crate) struct BrokerRequest {
    pub(crate) method: Method,
    /// The percent-decoded parts of the path from `v2` on.
    pub(crate) path: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) headers: HeaderMap,
}

impl BrokerRequest {
    pub(crate) fn query(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_patient(&self) -> bool {
        self.query("accepts_incomplete") == Some("true")
    }

    pub(crate) fn is(&self, method: &str, length: usize) -> bool {
        self.method == method && self.path.len() == length
    }

    pub(crate) fn is_poll(&self) -> bool {
        self.method == Method::GET && self.path.last().is_some_and(|last| last == "last_operation")
    }
}

/// What a wrong broker does to the answers of a right one.
pub(crate) type Spoil = Arc<dyn Fn(&BrokerRequest, &mut BrokerReply) + Send + Sync>;

struct TestBroker {
    instances: Mutex<Instances>,
    spoil: Spoil,
}

/// The brake of the small broker.
pub(crate) struct Brake(pub(crate) Arc<AtomicBool>);

#[async_trait]
impl HoldSwitch for Brake {
    async fn hold(&self) {
        assert!(!self.0.swap(true, Ordering::SeqCst), "held twice");
    }

    async fn release(&self) {
        assert!(self.0.swap(false, Ordering::SeqCst), "released without a hold");
    }
}

pub(crate) async fn open(habits: Habits, spoil: Spoil) -> (BrokerTarget, Brake, tokio::task::JoinHandle<()>) {
    let brake = Brake(Arc::clone(&habits.held));
    let test_broker = Arc::new(TestBroker { instances: Mutex::new(Instances::new(habits)), spoil });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a port");
    let url = format!("http://{}/oauth", listener.local_addr().expect("it is bound"));
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(test_broker);
    let server =
        tokio::spawn(
            async move { axum::serve(listener, router).await.expect("it serves until it is aborted") },
        );
    let password = "tester-password".to_owned().into();
    (BrokerTarget { url, user: "tester".to_owned(), password }, brake, server)
}

async fn answer(
    State(test_broker): State<Arc<TestBroker>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path();
    let path = path.find("/v2").map_or(path, |start| &path[start..]);
    let path = path.split('/').skip(1).map(|part| decoded(part, false)).collect();
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(key, value)| (decoded(key, true), decoded(value, true))).collect();
    let mut asked = BrokerRequest { method, path, query, body: Value::Null, headers };
    let mut reply = test_broker.reply(&mut asked, &body);
    let sent = asked.headers.get("x-broker-api-request-identity").and_then(|value| value.to_str().ok());
    let identity: String = sent.unwrap_or("made").chars().filter(|c| !c.is_control()).collect();
    reply.set("x-broker-api-request-identity", &identity);
    (test_broker.spoil)(&asked, &mut reply);
    let text = if reply.body.is_null() { String::new() } else { reply.body.to_string() };
    let mut response = (StatusCode::from_u16(reply.status).expect("wrong brokers have legal statuses"), text)
        .into_response();
    response.headers_mut().remove("content-type");
    for (name, value) in reply.headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_str(&value).expect("wrong brokers have legal headers"));
    }
    response
}

impl TestBroker {
    fn reply(&self, asked: &mut BrokerRequest, body: &Bytes) -> BrokerReply {
        let header = |name: &str| asked.headers.get(name).and_then(|value| value.to_str().ok());
        if header("authorization") != Some(LOGIN) {
            let mut reply = BrokerReply::error(401, "log in");
            reply.set("www-authenticate", "Basic realm=\"test\"");
            return reply;
        }
        let minor = header("x-broker-api-version").and_then(|version| version.strip_prefix("2."));
        let digits = minor.filter(|minor| minor.bytes().all(|byte| byte.is_ascii_digit()));
        if digits.and_then(|minor| minor.parse().ok()).is_none_or(|minor: u32| minor < 11) {
            return BrokerReply::error(412, "use version 2.11 or newer");
        }
        if body.len() > BODY_BYTES_MAX {
            return BrokerReply::error(413, "the body is too large");
        }
        if asked.is("PUT", 3) || asked.is("PATCH", 3) || asked.is("PUT", 5) {
            let kind =
                header("content-type").map(|kind| kind.split(';').next().unwrap_or_default().to_lowercase());
            if kind.is_some_and(|kind| kind != "application/json") {
                return BrokerReply::error(400, "send application/json");
            }
            match serde_json::from_slice(body) {
                Ok(body @ Value::Object(_)) => asked.body = body,
                _ => return BrokerReply::error(400, "the body is not a JSON object"),
            }
        }
        self.route(asked)
    }

    fn route(&self, asked: &BrokerRequest) -> BrokerReply {
        let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
        let allowed: &[&str] = match path.as_slice() {
            ["v2", "catalog"] => &["GET", "HEAD"],
            ["v2", "service_instances", .., "last_operation"] if [4, 6].contains(&path.len()) => &["GET"],
            ["v2", "service_instances", _] => &["GET", "PUT", "PATCH", "DELETE"],
            ["v2", "service_instances", _, "service_bindings", _] => &["GET", "PUT", "DELETE"],
            _ => return BrokerReply::error(404, "there is no such route"),
        };
        if !allowed.contains(&asked.method.as_str()) {
            let mut reply = BrokerReply::error(405, "there is no such method");
            reply.set("allow", &allowed.join(", "));
            return reply;
        }
        if path.iter().any(|part| part.is_empty() || part.len() > 255 || part.contains(['\0', '/'])) {
            return BrokerReply::error(400, "the id is none");
        }
        if path.len() == 2 {
            BrokerReply::new(200, CATALOG.clone())
        } else {
            self.instances.lock().expect("no request panics").reply(asked)
        }
    }
}

fn decoded(text: &str, plus_is_space: bool) -> String {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                out.push(u8::from_str_radix(&hex, 16).expect("the suite encodes well"));
            }
            b'+' if plus_is_space => out.push(b' '),
            other => out.push(other),
        }
    }
    String::from_utf8(out).expect("the suite sends UTF-8")
}
