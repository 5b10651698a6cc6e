//! The sandbox's `OpenNebula` with our API in front, and a device that checks what every answer must have.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::opennebula::OpenNebulaOptions;
use ::serverless::api::ServerlessApi;
use ::serverless::api::ServerlessApiParts;
use ::serverless::model::{CallerCredentials, Serverless, ServerlessSettings};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{KeyRing, SharedRing};
use engine::store::{OperationQuery, ResourceQuery};
use engine::{Engine, Resource};
use sandbox::Sandbox;
use serde_json::{Value, json};
use server::{Meter, Server};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::shaky_store::ShakyStore;
use crate::world::{ManualClock, settings};

pub(crate) const RUNTIMES: &str = "/serverless-runtimes";
/// More than any step of the sandbox needs.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct ServerlessFixture {
    pub(crate) sandbox: Sandbox,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<ShakyStore>,
    pub(crate) closing: CancellationToken,
    pub(crate) router: Router,
    http: reqwest::Client,
}

/// What a test wants to be different.
#[derive(Clone)]
pub(crate) struct FixtureOptions {
    pub(crate) settings: ServerlessSettings,
    pub(crate) grace: Duration,
    pub(crate) body_limit_bytes: usize,
    /// How long a call to OpenNebula may take, and wait for its turn.
    pub(crate) call_timeout: Duration,
    /// Whether a node works.
    pub(crate) works: bool,
}

impl Default for FixtureOptions {
    fn default() -> Self {
        let poll = Duration::from_millis(10);
        FixtureOptions {
            settings: ServerlessSettings { timeout: TIMEOUT, poll, ..ServerlessSettings::default() },
            grace: TIMEOUT,
            body_limit_bytes: 64 * 1024,
            call_timeout: Duration::from_secs(5),
            works: true,
        }
    }
}

pub(crate) async fn nebula() -> ServerlessFixture {
    nebula_with(FixtureOptions::default()).await
}

pub(crate) async fn nebula_with(fixture_options: FixtureOptions) -> ServerlessFixture {
    let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let options = OpenNebulaOptions {
        timeout: fixture_options.call_timeout,
        ..OpenNebulaOptions::new(sandbox.oned_url(), sandbox.oneflow_url())
    };
    let store = Arc::new(ShakyStore::default());
    let serverless = Arc::new(Serverless::new(&options, fixture_options.settings).unwrap());
    let ring = SharedRing::new(KeyRing::generate());
    let builder = Engine::builder(store.clone(), Arc::new(ManualClock::default()), ring);
    let engine = ::serverless::workflows::register(builder, &serverless).build();
    if fixture_options.works {
        engine.start(None).await.unwrap();
    }
    let config = json!({"one_xmlrpc": options.oned, "oneflow_server": options.oneflow, "port": 1337});
    let api_parts = ServerlessApiParts {
        grace: fixture_options.grace,
        body_limit_bytes: fixture_options.body_limit_bytes,
        ..ServerlessApiParts::new(serverless, config)
    };
    let closing = CancellationToken::new();
    let doors = Server {
        engine: engine.clone(),
        access: store.clone(),
        people: store.clone(),
        meter: Arc::new(Meter::new()),
        settings: settings(),
        bearers: None,
        endpoints: vec![Arc::new(ServerlessApi(Some(api_parts)))],
        workflows: None,
        diagnostics: server::Diagnostics::default(),
        closing: closing.clone(),
    };
    let router = server::router(doors);
    ServerlessFixture { sandbox, engine, store, closing, router, http: reqwest::Client::new() }
}

pub(crate) fn basic(pair: &str) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

/// The body for a runtime with one function of this flavour.
pub(crate) fn function(flavour: &str) -> Value {
    json!({"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": flavour}}})
}

/// The body for a runtime with these members.
pub(crate) fn runtime(members: Value) -> Value {
    Value::Object([("SERVERLESS_RUNTIME".to_owned(), members)].into_iter().collect())
}

/// A request being put together.
#[derive(Debug)]
pub(crate) struct ServerlessRequest {
    router: Router,
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Debug)]
pub(crate) struct ServerlessResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl ServerlessFixture {
    /// Without credentials.
    pub(crate) fn outsider(&self, method: &str, path: &str) -> ServerlessRequest {
        let (method, path) = (method.to_owned(), path.to_owned());
        ServerlessRequest {
            router: self.router.clone(),
            method,
            path,
            headers: Vec::new(),
            body: Body::empty(),
        }
    }

    /// As an ordinary user.
    pub(crate) fn ask(&self, method: &str, path: &str) -> ServerlessRequest {
        self.outsider(method, path).user("cognit:cognitpass")
    }

    pub(crate) async fn post(&self, body: &Value) -> ServerlessResponse {
        self.ask("POST", RUNTIMES).json(body).send().await
    }

    pub(crate) async fn get(&self, id: i64) -> ServerlessResponse {
        self.ask("GET", &format!("{RUNTIMES}/{id}")).send().await
    }

    pub(crate) async fn put(&self, id: i64, body: &Value) -> ServerlessResponse {
        self.ask("PUT", &format!("{RUNTIMES}/{id}")).json(body).send().await
    }

    pub(crate) async fn delete(&self, id: i64) -> ServerlessResponse {
        self.ask("DELETE", &format!("{RUNTIMES}/{id}")).send().await
    }

    /// A runtime that was just made.
    pub(crate) async fn made(&self, body: &Value) -> i64 {
        let answer = self.post(body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.id()
    }

    /// A runtime whose function runs.
    pub(crate) async fn running(&self, body: &Value) -> i64 {
        let id = self.made(body).await;
        self.until(id, "RUNNING").await;
        id
    }

    pub(crate) async fn until(&self, id: i64, state: &str) -> ServerlessResponse {
        let mut last = Value::Null;
        for _ in 0..1000 {
            let answer = self.get(id).await;
            if answer.json["SERVERLESS_RUNTIME"]["FAAS"]["STATE"] == state {
                return answer;
            }
            last = answer.json;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("runtime {id} never was {state}: {last}");
    }

    /// Waits until all functions of a runtime are in this state.
    pub(crate) async fn until_all(&self, id: i64, state: &str) {
        let mut last = Value::Null;
        for _ in 0..1000 {
            last = self.get(id).await.json;
            let runtime = &last["SERVERLESS_RUNTIME"];
            if ["FAAS", "DAAS"].iter().all(|role| runtime[role].is_null() || runtime[role]["STATE"] == state)
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("runtime {id} never was {state}: {last}");
    }

    pub(crate) async fn no_faults(&self) {
        let url = format!("{}/faults", self.sandbox.url());
        self.http.delete(url).send().await.unwrap().error_for_status().unwrap();
    }

    /// Tells the sandbox something.
    pub(crate) async fn tell(&self, path: &str, body: &Value) {
        let url = format!("{}{path}", self.sandbox.url());
        let answer = self.http.post(url).json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
    }

    /// What stands in `OpenNebula`, by kind.
    pub(crate) async fn standing(&self) -> Vec<String> {
        let url = format!("{}/ledger", self.sandbox.url());
        let ledger: Value = self.http.get(url).send().await.unwrap().json().await.unwrap();
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().map(|effect| effect["kind"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until nothing stands in `OpenNebula`.
    pub(crate) async fn is_empty_soon(&self) {
        let mut last = Vec::new();
        // After trouble a removal is tried again with growing pauses.
        for _ in 0..6000 {
            last = self.standing().await;
            if last.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let operations =
            self.engine.list(&OperationQuery { limit: 10, ..OperationQuery::default() }).await.unwrap();
        panic!("this is left: {last:?} after {operations:#?}");
    }

    /// How many operations there ever were, and records with them.
    pub(crate) async fn rows(&self) -> (usize, usize) {
        let query = OperationQuery { limit: 1000, ..OperationQuery::default() };
        let operations = self.engine.list(&query).await.unwrap();
        let kind = CallerCredentials::KIND.to_owned();
        let query = ResourceQuery { kind, also_gone: true, limit: 1000, ..ResourceQuery::default() };
        let resources = self.engine.resources(&query).await.unwrap();
        (operations.len(), resources.rows.len())
    }
}

impl ServerlessRequest {
    /// Replaces what was there under this name; no value takes it away.
    pub(crate) fn header_bytes(mut self, name: &str, value: Option<&[u8]>) -> ServerlessRequest {
        self.headers.retain(|(other, _)| other != name);
        self.headers.extend(value.map(|value| (name.to_owned(), value.to_vec())));
        self
    }

    pub(crate) fn header(self, name: &str, value: &str) -> ServerlessRequest {
        self.header_bytes(name, Some(value.as_bytes()))
    }

    pub(crate) fn user(self, pair: &str) -> ServerlessRequest {
        self.header("authorization", &basic(pair))
    }

    pub(crate) fn json(self, body: &Value) -> ServerlessRequest {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> ServerlessRequest {
        self.body = body.into();
        self
    }

    pub(crate) async fn send(self) -> ServerlessResponse {
        let ServerlessRequest { router, method, path, headers, body } = self;
        let mut request = Request::builder().method(method.as_str()).uri(&path);
        for (name, value) in &headers {
            request = request.header(name, value.as_slice());
        }
        let response = router.oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(to_bytes(body, 16 << 20).await.unwrap().to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        let answer = ServerlessResponse { status: parts.status.as_u16(), headers: parts.headers, text, json };
        answer.has_what_every_answer_has(&method, &path);
        answer
    }
}

impl ServerlessResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn id(&self) -> i64 {
        let id = &self.json["SERVERLESS_RUNTIME"]["ID"];
        id.as_i64().unwrap_or_else(|| panic!("no id in {}", self.text))
    }

    /// Checks the status and the error of a refusal.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, error: &str) -> &ServerlessResponse {
        assert_eq!((self.status, self.json["error"].as_str()), (status, Some(error)), "{}", self.text);
        self
    }

    #[track_caller]
    fn has_what_every_answer_has(&self, method: &str, path: &str) {
        let line = format!("{method} {path}: {} {}", self.status, self.text);
        let is = |header: &str, statuses: &[u16]| {
            assert_eq!(
                self.headers.contains_key(header),
                statuses.contains(&self.status),
                "{header} in {line}"
            );
        };
        is("www-authenticate", &[401]);
        is("retry-after", &[423, 503, 504]);
        is("allow", &[405]);
        is("location", &[201, 202]);
        is("preference-applied", &[202]);
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{line}");
        assert!(!self.header("x-request-id").is_empty(), "{line}");
        let known = [
            "www-authenticate",
            "retry-after",
            "allow",
            "location",
            "preference-applied",
            "x-request-id",
            "x-content-type-options",
            "content-type",
            "content-length",
            "idempotency-replayed",
        ];
        let unknown = self.headers.keys().find(|name| !known.contains(&name.as_str()));
        assert!(unknown.is_none(), "{unknown:?} in {line}");
        if self.status == 204 {
            assert!(self.text.is_empty() && !self.headers.contains_key("content-type"), "{line}");
            return;
        }
        assert_eq!(self.header("content-type"), "application/json", "{line}");
        if method == "HEAD" {
            return assert!(self.text.is_empty(), "{line}");
        }
        assert_eq!(self.header("content-length"), self.text.len().to_string(), "{line}");
        if self.status >= 400 {
            let names: Vec<&str> = self.json.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, ["error", "message"], "{line}");
            assert!(self.json["error"].as_str().is_some_and(|error| !error.is_empty()), "{line}");
            assert!(!self.json["message"].is_null(), "{line}");
        }
        self.is_documented(method, path);
    }

    #[track_caller]
    fn is_documented(&self, method: &str, path: &str) {
        static API: LazyLock<Value> =
            LazyLock::new(|| serde_json::to_value(::serverless::api::openapi()).unwrap());
        let segments: Vec<&str> = path.split('?').next().unwrap().split('/').skip(1).collect();
        let template = match segments.as_slice() {
            ["serverless-runtimes"] => "/serverless-runtimes",
            ["serverless-runtimes", "schema"] => "/serverless-runtimes/schema",
            ["serverless-runtimes", "flavours"] => "/serverless-runtimes/flavours",
            ["serverless-runtimes", id] if !id.is_empty() => "/serverless-runtimes/{id}",
            ["serverless-runtimes", "operations", id] if !id.is_empty() => {
                "/serverless-runtimes/operations/{operation_id}"
            }
            ["server", "version"] => "/server/version",
            ["server", "config"] => "/server/config",
            ["engine", "version"] => "/engine/version",
            _ => return assert_eq!(self.status, 404, "{method} {path}"),
        };
        let operation = &API["paths"][template][method.to_lowercase()];
        let status = self.status.to_string();
        if operation.is_null() {
            return assert_eq!(self.status, 405, "{method} {template} is not documented");
        }
        let content = &operation["responses"][&status]["content"]["application/json"];
        assert!(content.is_object(), "{method} {template}: {status} is not documented");
    }
}
