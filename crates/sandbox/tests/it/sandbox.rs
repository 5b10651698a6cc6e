//! The sandbox as its callers see it: over HTTP, with a real client.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::{Client, Method, Response, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

struct SandboxClient {
    client: Client,
    sandbox: Sandbox,
}

impl SandboxClient {
    async fn new() -> Self {
        let sandbox = Sandbox::start(loopback()).await.unwrap();
        SandboxClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> reqwest::Result<Response> {
        let request = self.client.request(method, format!("{}{path}", self.sandbox.url()));
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.send(Method::GET, path, None).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.unwrap()
    }

    async fn delete(&self, path: &str) -> StatusCode {
        self.send(Method::DELETE, path, None).await.unwrap().status()
    }

    async fn try_greet(&self, token: &str, body: Value) -> reqwest::Result<Response> {
        let url = format!("{}/greeter/greetings", self.sandbox.url());
        self.client.post(url).header("Idempotency-Key", token).json(&body).send().await
    }

    async fn greet(&self, token: &str, name: &str) -> (StatusCode, Value) {
        let response = self.try_greet(token, json!({"name": name})).await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn arm(&self, fault: Value) {
        let response = self.send(Method::POST, "/faults", Some(fault)).await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
    }

    /// The tokens of a list, in order.
    async fn ledger(&self, query: &str) -> Vec<String> {
        let list = self.get(&format!("/ledger{query}")).await;
        let token = |effect: &Value| effect["token"].as_str().unwrap().to_owned();
        list["effects"].as_array().unwrap().iter().map(token).collect()
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

#[tokio::test]
async fn it_listens_on_loopback_only() {
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let error = Sandbox::start(everywhere).await.unwrap_err();
    assert_eq!(error.to_string(), "the sandbox only listens on loopback, not on 0.0.0.0");
}

#[tokio::test]
async fn a_stopped_sandbox_frees_its_port_for_the_next_one() {
    let caller = SandboxClient::new().await;
    let addr = caller.sandbox.addr();
    assert_eq!(caller.get("/healthz").await, json!({"status": "ok"}));
    caller.sandbox.stop().await;
    let next = Sandbox::start(addr).await.unwrap();
    assert_eq!(next.addr(), addr);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(next.run_until(stopped));
    stop.send(()).unwrap();
    running.await.unwrap();
    Sandbox::start(addr).await.unwrap().stop().await;
}

#[tokio::test]
async fn the_same_key_has_one_effect_and_one_answer() {
    let caller = SandboxClient::new().await;
    let (status, first) = caller.greet("t1", "Ada").await;
    assert_eq!((status, &first["text"]), (StatusCode::CREATED, &json!("Hello, Ada!")));
    assert_eq!(first["token"].as_str().unwrap().len(), 64);
    assert_eq!(caller.greet("t1", "Ada").await, (StatusCode::OK, first.clone()));
    assert_eq!(caller.greet("t1", "Bob").await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(caller.get("/greeter/greetings/t1").await, first);
    let (_, other) = caller.greet("t2", "Ada").await;
    assert_ne!(other["token"], first["token"]);

    let effect = &caller.get("/ledger").await["effects"][0];
    assert_eq!((&effect["system"], &effect["kind"]), (&json!("greeter"), &json!("greet")));
    assert!(effect["at"].as_str().unwrap().ends_with('Z'));
    assert!(effect.get("taken_back_at").is_none());
    assert_eq!(caller.ledger("").await, ["t1", "t2"]);
    let counts = json!({"made": 2, "taken_back": 0, "standing": 2, "repeats": 2});
    assert_eq!(caller.get("/ledger/summary").await, json!({"greeter/greet": counts}));
}

#[tokio::test]
async fn what_is_taken_back_leaves_the_list_but_not_the_history() {
    let caller = SandboxClient::new().await;
    caller.greet("t1", "Ada").await;
    caller.greet("a/b c%", "Bob").await;
    assert_eq!(caller.delete("/greeter/greetings/t1").await, StatusCode::NO_CONTENT);
    assert_eq!(caller.delete("/greeter/greetings/t1").await, StatusCode::NOT_FOUND);
    let gone = caller.send(Method::GET, "/greeter/greetings/t1", None).await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);

    assert_eq!(caller.ledger("").await, ["a/b c%"]);
    assert_eq!(caller.ledger("?all=true").await, ["t1", "a/b c%"]);
    assert_eq!(caller.ledger("?token=t1").await, [""; 0]);
    let all = caller.get("/ledger?all=true&token=t1").await;
    assert!(all["effects"][0]["taken_back_at"].is_string());
    assert_eq!(caller.delete("/greeter/greetings/a%2Fb%20c%25").await, StatusCode::NO_CONTENT);

    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::CREATED);
    let counts = json!({"made": 3, "taken_back": 2, "standing": 1, "repeats": 0});
    assert_eq!(caller.get("/ledger/summary").await, json!({"greeter/greet": counts}));

    assert_eq!(caller.delete("/ledger").await, StatusCode::NO_CONTENT);
    assert_eq!(caller.ledger("?all=true").await, [""; 0]);
    assert_eq!(caller.get("/ledger/summary").await, json!({}));
    assert_eq!(caller.greet("t1", "Bob").await.0, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_at_once_with_one_key_have_one_effect() {
    let caller = std::sync::Arc::new(SandboxClient::new().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let caller = caller.clone();
        calls.spawn(async move { caller.greet("t1", "Ada").await });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|(status, _)| *status == StatusCode::CREATED).count(), 1);
    assert!(answers.iter().all(|(_, body)| *body == answers[0].1));
    assert_eq!(caller.ledger("?all=true").await, ["t1"]);
    assert_eq!(caller.get("/ledger/summary").await["greeter/greet"]["repeats"], 199);
}

#[tokio::test]
async fn a_long_list_comes_out_whole() {
    let caller = SandboxClient::new().await;
    let names: Vec<String> = (0..2001).map(|number| format!("t{number}")).collect();
    for name in &names {
        caller.greet(name, "Ada").await;
    }
    assert_eq!(caller.ledger("").await, names);
}

#[tokio::test]
async fn a_lost_answer_leaves_its_effect() {
    let caller = SandboxClient::new().await;
    caller.arm(json!({"system": "greeter", "kind": "drop_after"})).await;
    let error = caller.try_greet("t1", json!({"name": "Ada"})).await.unwrap_err();
    assert!(error.is_request(), "{error:?}");
    assert_eq!(caller.ledger("").await, ["t1"]);
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::OK);
    assert_eq!(caller.ledger("?all=true").await, ["t1"]);
}

#[tokio::test]
async fn a_call_dropped_before_the_work_leaves_nothing() {
    let caller = SandboxClient::new().await;
    // The first call leaves a connection in the pool, so the drop hits a connection that was good before.
    caller.greet("t0", "Ada").await;
    caller.arm(json!({"system": "greeter", "kind": "drop_before", "times": 2})).await;
    for _ in 0..2 {
        let error = caller.try_greet("t1", json!({"name": "Ada"})).await.unwrap_err();
        assert!(error.is_request(), "{error:?}");
    }
    assert_eq!(caller.ledger("?all=true").await, ["t0"]);
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn errors_carry_the_status_and_the_waiting_time_that_were_asked_for() {
    let caller = SandboxClient::new().await;
    let fault = json!({"system": "greeter", "kind": "error", "status": 429, "retry_after_s": 7});
    caller.arm(fault).await;
    caller.arm(json!({"system": "greeter", "kind": "error"})).await;
    let throttled = caller.try_greet("t1", json!({"name": "Ada"})).await.unwrap();
    assert_eq!(throttled.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(throttled.headers()["retry-after"], "7");
    let (status, body) = caller.greet("t1", "Ada").await;
    assert_eq!((status, body), (StatusCode::SERVICE_UNAVAILABLE, json!({"error": "a scripted fault"})));
    assert_eq!(caller.ledger("?all=true").await, [""; 0]);
}

#[tokio::test]
async fn garbage_is_not_json_and_latency_still_answers() {
    let caller = SandboxClient::new().await;
    caller.arm(json!({"system": "greeter", "kind": "garbage"})).await;
    caller.arm(json!({"system": "greeter", "kind": "latency", "latency_ms": 20})).await;
    let garbage = caller.try_greet("t1", json!({"name": "Ada"})).await.unwrap();
    assert_eq!(garbage.status(), StatusCode::OK);
    assert!(garbage.json::<Value>().await.is_err());
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn the_work_is_done_even_when_the_caller_stopped_waiting() {
    let caller = SandboxClient::new().await;
    caller.arm(json!({"system": "greeter", "kind": "hold"})).await;
    let url = format!("{}/greeter/greetings", caller.sandbox.url());
    let request = caller.client.post(url).header("Idempotency-Key", "t1").json(&json!({"name": "Ada"}));
    let call = tokio::spawn(request.send());
    while caller.get("/faults").await != json!({"faults": []}) {}
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(caller.ledger("").await, [""; 0], "the call is held");
    caller.send(Method::POST, "/faults/release", None).await.unwrap();
    while caller.ledger("").await != ["t1"] {}
}

#[tokio::test]
async fn armed_faults_are_listed_with_their_hits_until_they_are_spent_or_cleared() {
    let caller = SandboxClient::new().await;
    caller.arm(json!({"system": "greeter", "kind": "error", "times": 2, "method": "POST"})).await;
    caller.arm(json!({"system": "greeter", "kind": "garbage", "times": 0, "after": 9})).await;
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::SERVICE_UNAVAILABLE);
    let unharmed = caller.send(Method::GET, "/greeter/greetings/t1", None).await.unwrap();
    assert_eq!(unharmed.status(), StatusCode::NOT_FOUND);
    let first = json!({
        "id": 1, "system": "greeter", "kind": "error", "times": 2, "after": 0, "method": "POST", "hits": 1
    });
    let second = json!({"id": 2, "system": "greeter", "kind": "garbage", "times": 0, "after": 9, "hits": 0});
    assert_eq!(caller.get("/faults").await, json!({"faults": [first, second]}));
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(caller.get("/faults").await, json!({"faults": [second]}));
    assert_eq!(caller.delete("/faults").await, StatusCode::NO_CONTENT);
    assert_eq!(caller.get("/faults").await, json!({"faults": []}));
    assert_eq!(caller.greet("t1", "Ada").await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn malformed_greetings_are_refused_in_json_and_have_no_effect() {
    let caller = SandboxClient::new().await;
    let url = format!("{}/greeter/greetings", caller.sandbox.url());
    let post = |body: String| caller.client.post(&url).header("Idempotency-Key", "t1").body(body);
    let long = "x".repeat(201);
    let huge = format!(r#"{{"name":"{}"}}"#, "x".repeat(65 * 1024));
    let named = || post(r#"{"name":"Ada"}"#.into());
    let keyless = || caller.client.post(&url).body(r#"{"name":"Ada"}"#);
    check(post("not json".into()), 400, "expected").await;
    check(post(String::new()), 400, "EOF").await;
    check(post("{}".into()), 400, "missing field `name`").await;
    check(post(r#"{"name":7}"#.into()), 400, "expected a string").await;
    check(post(r#"{"name":"Ada","nmae":1}"#.into()), 400, "unknown field `nmae`").await;
    check(post(r#"{"name":""}"#.into()), 400, "1 to 200 characters").await;
    check(post(format!(r#"{{"name":"{long}"}}"#)), 400, "1 to 200 characters").await;
    check(post(huge), 413, "limit").await;
    check(post(r#"{"name":"Ada","fail":true}"#.into()), 422, "asked to fail").await;
    check(keyless(), 400, "Idempotency-Key header is required").await;
    check(named().header("Idempotency-Key", "t2"), 400, "exactly one").await;
    check(keyless().header("Idempotency-Key", ""), 400, "1 to 255").await;
    check(keyless().header("Idempotency-Key", "k".repeat(256)), 400, "1 to 255").await;
    check(caller.client.get(format!("{url}/%ff")), 400, "UTF-8").await;
    assert_eq!(caller.ledger("?all=true").await, [""; 0]);
}

#[tokio::test]
async fn other_nonsense_is_refused_in_json_too() {
    let caller = SandboxClient::new().await;
    let url = |path: &str| format!("{}{path}", caller.sandbox.url());
    let fault = |body: &'static str| caller.client.post(url("/faults")).body(body);
    check(fault(r#"{"system":"greeter","kind":"flood"}"#), 400, "`drop_after`").await;
    check(fault(r#"{"system":"mars","kind":"error"}"#), 400, "`greeter`").await;
    check(fault(r#"{"system":"greeter","kind":"error","tmies":1}"#), 400, "`times`").await;
    check(fault(r#"{"system":"greeter","kind":"error","times":-1}"#), 400, "u32").await;
    check(fault(r#"{"system":"greeter","kind":"error","method":"TRACE"}"#), 400, "`DELETE`").await;
    check(caller.client.get(url("/ledger?al=true")), 400, "unknown field").await;
    check(caller.client.get(url("/ledger?all=perhaps")), 400, "`true` or `false`").await;
    check(caller.client.get(url("/nowhere")), 404, "nothing at this path").await;
    check(caller.client.put(url("/ledger")), 405, "method").await;
    assert_eq!(caller.get("/faults").await, json!({"faults": []}));
}

async fn check(request: reqwest::RequestBuilder, status: u16, message_part: &str) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status().as_u16(), status);
    let body: Value = response.json().await.unwrap();
    let message = body["error"].as_str().unwrap();
    assert!(message.contains(message_part), "{message:?} does not contain {message_part:?}");
}
