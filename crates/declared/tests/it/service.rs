//! A service that carries out steps and keeps a ledger: one line for each key whose effect stands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use declared::{Declaration, Declarations, DeclaredWorkflow, Front, Reach, StepClient, compile};
use engine::secret::SecretString;
use engine::store::MemoryStore;
use engine::{Plan, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// What the service does with one call instead of its work.
#[derive(Clone)]
pub(crate) enum Instead {
    Answer(Value),
    /// A status with a body.
    Status(u16, &'static str),
    /// It does its work and cuts the connection.
    DoAndCut,
    /// It cuts the connection without its work.
    Cut,
    /// Any bytes as a 200.
    Bytes(Vec<u8>),
    Hang,
    /// It answers 200 and then a space from time to time, for ever.
    Drip,
    RetryAfter(u16),
}

#[derive(Default)]
pub(crate) struct CallLedger {
    /// The key and the step of each effect that stands.
    pub(crate) standing: BTreeMap<String, String>,
    /// Every effect that was ever made.
    pub(crate) made: Vec<String>,
    pub(crate) calls: Vec<(HeaderMap, Value)>,
    script: VecDeque<(String, Instead)>,
}

#[derive(Clone, Default)]
pub(crate) struct StepService {
    pub(crate) ledger: Arc<Mutex<CallLedger>>,
    pub(crate) url: String,
}

impl StepService {
    pub(crate) async fn start() -> StepService {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let service = StepService { url, ..StepService::default() };
        let shared = service.clone();
        let router = Router::new().fallback(any(move |headers: HeaderMap, body: Bytes| {
            let shared = shared.clone();
            async move { shared.answer(headers, &body).await }
        }));
        tokio::spawn(async move { axum::serve(listener, router).await });
        service
    }

    /// From now on, the next call of this step gets this; `undo STEP` and `run STEP` are one kind of call alone.
    pub(crate) fn next(&self, step: &str, instead: Instead) {
        self.ledger.lock().unwrap().script.push_back((step.to_owned(), instead));
    }

    pub(crate) fn standing(&self) -> Vec<String> {
        self.ledger.lock().unwrap().standing.values().cloned().collect()
    }

    pub(crate) fn made(&self) -> Vec<String> {
        self.ledger.lock().unwrap().made.clone()
    }

    pub(crate) fn calls(&self) -> Vec<Value> {
        self.ledger.lock().unwrap().calls.iter().map(|(_, call)| call.clone()).collect()
    }

    /// The actions and steps that were called, in order.
    pub(crate) fn trace(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.calls().iter().map(|call| format!("{} {}", text(&call["action"]), text(&call["step"]))).collect()
    }

    /// Of the first call.
    pub(crate) fn traceparent(&self) -> String {
        self.ledger.lock().unwrap().calls[0].0["traceparent"].to_str().unwrap().to_owned()
    }

    async fn answer(&self, headers: HeaderMap, body: &[u8]) -> Response {
        let call: Value = serde_json::from_slice(body).unwrap();
        let at: i64 = headers["provision-engine-timestamp"].to_str().unwrap().parse().unwrap();
        let signed = external_step::signature(&SecretString::from(SECRET), at, body);
        assert_eq!(headers["provision-engine-signature"], signed.as_str(), "the signature");
        let (step, key) =
            (call["step"].as_str().unwrap().to_owned(), call["idempotency_key"].as_str().unwrap());
        assert_eq!(headers["idempotency-key"], key);
        let (is_undo, key) = (call["action"] == "undo", key.to_owned());
        let with_action = format!("{} {step}", if is_undo { "undo" } else { "run" });
        let instead = {
            let mut ledger = self.ledger.lock().unwrap();
            ledger.calls.push((headers, call.clone()));
            let at = ledger.script.iter().position(|(name, _)| *name == step || *name == with_action);
            at.and_then(|at| ledger.script.remove(at)).map(|(_, instead)| instead)
        };
        match instead {
            Some(Instead::Answer(answer)) => axum::Json(answer).into_response(),
            Some(Instead::Status(status, text)) => {
                (StatusCode::from_u16(status).unwrap(), text.to_owned()).into_response()
            }
            Some(Instead::RetryAfter(seconds)) => {
                (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", seconds.to_string())]).into_response()
            }
            Some(Instead::Bytes(bytes)) => bytes.into_response(),
            Some(Instead::Cut) => cut(),
            Some(Instead::DoAndCut) => {
                self.work(&step, &key, is_undo);
                cut()
            }
            Some(Instead::Hang) => {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                cut()
            }
            Some(Instead::Drip) => {
                let drops = futures_util::stream::unfold((), |()| async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
                });
                Body::from_stream(drops).into_response()
            }
            None => axum::Json(self.work(&step, &key, is_undo)).into_response(),
        }
    }

    fn work(&self, step: &str, key: &str, is_undo: bool) -> Value {
        let mut ledger = self.ledger.lock().unwrap();
        if is_undo {
            ledger.standing.remove(key);
            return json!({"outcome": "done"});
        }
        if step != "look" && ledger.standing.insert(key.to_owned(), step.to_owned()).is_none() {
            ledger.made.push(step.to_owned());
        }
        json!({"outcome": "done", "facts": {"key": key, "step": step}, "secrets": {"password": format!("s3cret of {step}")}})
    }
}

/// A body that ends before its length is reached.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
    Response::builder().header("content-length", "100").body(Body::from_stream(broken)).unwrap()
}

/// Four steps: one with each effect, and a clean-up.
pub(crate) fn declaration(url: &str) -> String {
    format!(
        r#"
workflow: acme.database
title: Database for a team
params:
  type: object
  required: [team]
  additionalProperties: false
  properties:
    team: {{type: string, pattern: "^[a-z]{{2,20}}$"}}
    size: {{enum: [small, large], default: small}}
    password: {{type: string, writeOnly: true}}
resource: "database:{{team}}"
on_failure: undo
deadline: 2h
base_url: {url}
steps:
  - {{name: reserve, weight: 10, title: Reserving the name, url: reserve, undo: reserve/undo}}
  - {{name: look, weight: 15, title: Looking, url: look, effect: none}}
  - {{name: create, weight: 20, title: Creating it, url: create, undo: create/undo, timeout: 300ms, sees: [password],
     retry: {{within: 2s, first: 1ms, at_most: 5ms}}, limit: 2}}
  - {{name: grow, weight: 30, title: Growing it, url: grow, undo: grow/undo, when: "size = large"}}
  - {{name: finish, weight: 40, title: Finishing, url: finish, undo: finish/undo, when: has create.key}}
"#
    )
}

pub(crate) fn parse(text: &str) -> Declaration {
    Declaration::parse(text, Reach::default()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

pub(crate) fn plan(service: &StepService) -> Plan<DeclaredWorkflow> {
    compile(parse(&declaration(&service.url)), 1, &front(), SECRET.into())
}

pub(crate) fn front() -> Arc<Front> {
    let front = Front::new(StepClient::new(Reach::default()).unwrap());
    front.listens_at("https://engine.example/");
    front
}

/// An engine without a workflow, its declarations, and its store.
pub(crate) async fn world() -> (TestEngine, Arc<Declarations>, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let test_engine = TestEngine::open(TestEngine::plan(store.clone(), Arc::new(WallClock)), None).await;
    let declarations =
        Declarations::new(test_engine.engine.clone(), StepClient::new(Reach::default()).unwrap());
    (test_engine, declarations, store)
}

pub(crate) async fn declare(declarations: &Declarations, text: &str) -> declared::Saved {
    let declaration = declarations.check(text).unwrap();
    declarations.declare(&declaration, Some(SECRET.into()), "ann", &declared::Source::Api).await.unwrap()
}
