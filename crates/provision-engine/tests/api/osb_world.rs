//! A broker with its APIs, and a platform that checks what every answer must have.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::runtimes::api::RuntimesApi;
use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::catalog::{BackendKind, Catalog};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::prelude::ExposeSecret;
use engine::secret::{KeyRing, SharedRing};
use engine::{Clock, Engine, Role};
use serde_json::{Value, json};
use server::{Meter, Server, ServerSettings, tokens};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::osb_pretend::{Levers, register};
use crate::shaky_store::ShakyStore;
use crate::world::ManualClock;

/// Far longer than any operation takes, also on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);
pub(crate) const SERVICE: &str = "s-1";
pub(crate) const SMALL: &str = "p-small";
pub(crate) const LARGE: &str = "p-large";
/// Its instances end some day, and it has no bindings.
pub(crate) const WORKFLOW_TEST: &str = "p-trial";
/// Its instances cannot become anything else.
pub(crate) const FIXED: &str = "p-fixed";

const CATALOG: &str = "
service: {id: s-1, name: runtime, description: A runtime}
plans:
  - {id: p-small, name: small, description: d, provider: gcp, regions: [north, south], machines: [m1, m2],
     defaults: {machine: m1, min: 1, max: 3}, limits: {bindings: 100}, changes_to: [large], maintenance: {version: 1.2.3, description: d}}
  - {id: p-large, name: large, description: d, provider: gcp, regions: [north], machines: [m2],
     defaults: {machine: m2, min: 1, max: 9}}
  - {id: p-trial, name: trial, description: d, provider: aws, areas: {europe: north}, machines: [m1],
     defaults: {machine: m1, min: 1, max: 1}, expires_after_days: 14, bindable: false}
  - {id: p-fixed, name: fixed, description: d, provider: azure, regions: [north], machines: [m1],
     defaults: {machine: m1, min: 1, max: 3}}
";

/// Makes of each function two tests, one for each back end.
macro_rules! on_both_back_ends {
    ($($name:ident),* $(,)?) => {
        on_both_back_ends!(@on provisioner, Provisioner, $($name)*);
        on_both_back_ends!(@on infrastructure_manager, InfrastructureManager, $($name)*);
    };
    (@on $module:ident, $backend:ident, $($name:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(::runtimes::backend::BackendKind::$backend).await;
                }
            )*
        }
    };
}
pub(crate) use on_both_back_ends;

pub(crate) struct BrokerFixture {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<ShakyStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) levers: Arc<Levers>,
    pub(crate) password: String,
    pub(crate) reader: String,
    pub(crate) router: Router,
}

pub(crate) struct BrokerSettings {
    pub(crate) server: ServerSettings,
    pub(crate) osb: OsbSettings,
}

pub(crate) fn settings(osb: OsbSettings) -> BrokerSettings {
    let server = ServerSettings { stream_poll: Duration::from_millis(5), ..ServerSettings::default() };
    BrokerSettings { server, osb }
}

pub(crate) fn with_server(server: ServerSettings) -> BrokerSettings {
    BrokerSettings { server, ..settings(OsbSettings::default()) }
}

pub(crate) async fn broker() -> BrokerFixture {
    broker_with(settings(OsbSettings::default())).await
}

pub(crate) async fn broker_with(settings: BrokerSettings) -> BrokerFixture {
    broker_of(settings, CATALOG).await
}

/// The same plans on one back end.
pub(crate) async fn broker_on(settings: BrokerSettings, backend: BackendKind) -> BrokerFixture {
    broker_from(settings, Catalog::parse(CATALOG).unwrap().with_backends(|_| backend)).await
}

pub(crate) async fn broker_of(settings: BrokerSettings, catalog: &str) -> BrokerFixture {
    broker_from(settings, Catalog::parse(catalog).unwrap()).await
}

pub(crate) async fn broker_from(settings: BrokerSettings, catalog: Catalog) -> BrokerFixture {
    let BrokerSettings { server: settings, osb } = settings;
    let store = Arc::new(ShakyStore::default());
    let clock = Arc::new(ManualClock::default());
    let levers = Arc::new(Levers::default());
    let ring = SharedRing::new(KeyRing::generate());
    let engine = register(Engine::builder(store.clone(), clock.clone(), ring), &levers);
    engine.start(None).await.unwrap();
    let doors = Server {
        engine: engine.clone(),
        access: store.clone(),
        people: store.clone(),
        meter: Arc::new(Meter::new()),
        settings,
        bearers: None,
        endpoints: vec![Arc::new(RuntimesApi {
            catalog: Arc::new(catalog),
            osb,
            backends: None,
            runtimes: Arc::default(),
        })],
        workflows: None,
        diagnostics: server::Diagnostics::default(),
        closing: CancellationToken::new(),
    };
    let issued = tokens::issue(&*store, "cf", Role::Broker, clock.now(), None).await.unwrap();
    let reader = tokens::issue(&*store, "rita", Role::Reader, clock.now(), None).await.unwrap();
    BrokerFixture {
        router: server::router(doors),
        password: issued.expose_secret().to_owned(),
        reader: reader.expose_secret().to_owned(),
        engine,
        store,
        clock,
        levers,
    }
}

/// A good body for a new instance.
pub(crate) fn wanted(plan: &str) -> Value {
    let parameters =
        if plan == WORKFLOW_TEST { json!({"name": "n"}) } else { json!({"name": "n", "region": "north"}) };
    json!({
        "service_id": SERVICE, "plan_id": plan, "organization_guid": "org", "space_guid": "space",
        "context": {"platform": "cloudfoundry", "globalaccount_id": "ga", "subaccount_id": "sa", "user_id": "u"},
        "parameters": parameters,
    })
}

/// The same with some members replaced, each named by its JSON pointer.
pub(crate) fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    body
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

pub(crate) fn instance(id: &str) -> String {
    format!("/v2/service_instances/{id}")
}

pub(crate) fn binding(id: &str, bid: &str) -> String {
    format!("/v2/service_instances/{id}/service_bindings/{bid}")
}

/// A request being put together.
pub(crate) struct OsbRequest {
    router: Router,
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

#[derive(Debug)]
pub(crate) struct OsbResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl BrokerFixture {
    /// With good credentials and a version.
    pub(crate) fn ask(&self, method: &str, path: &str) -> OsbRequest {
        let ask = OsbRequest {
            router: self.router.clone(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Body::empty(),
        };
        ask.header("authorization", &basic("cf", &self.password)).header("x-broker-api-version", "2.17")
    }

    /// Asks for an instance and can wait.
    pub(crate) async fn put(&self, id: &str, body: &Value) -> OsbResponse {
        self.ask("PUT", &format!("{}?accepts_incomplete=true", instance(id))).json(body).send().await
    }

    pub(crate) async fn patch(&self, id: &str, body: &Value) -> OsbResponse {
        self.ask("PATCH", &format!("{}?accepts_incomplete=true", instance(id))).json(body).send().await
    }

    pub(crate) async fn get(&self, id: &str) -> OsbResponse {
        self.ask("GET", &instance(id)).send().await
    }

    pub(crate) async fn delete(&self, id: &str, plan: &str) -> OsbResponse {
        let query = format!("service_id={SERVICE}&plan_id={plan}&accepts_incomplete=true");
        self.ask("DELETE", &format!("{}?{query}", instance(id))).send().await
    }

    pub(crate) async fn last(&self, id: &str) -> OsbResponse {
        self.ask("GET", &format!("{}/last_operation", instance(id))).send().await
    }

    pub(crate) async fn bind(&self, id: &str, bid: &str, query: &str, body: &Value) -> OsbResponse {
        self.ask("PUT", &format!("{}{query}", binding(id, bid))).json(body).send().await
    }

    pub(crate) async fn unbind(&self, id: &str, bid: &str, query: &str) -> OsbResponse {
        let path = format!("{}?service_id={SERVICE}&plan_id={SMALL}{query}", binding(id, bid));
        self.ask("DELETE", &path).send().await
    }

    /// Polls until the last operation has this state.
    pub(crate) async fn until(&self, id: &str, state: &str) -> OsbResponse {
        self.until_at(&format!("{}/last_operation", instance(id)), state).await
    }

    pub(crate) async fn until_at(&self, path: &str, state: &str) -> OsbResponse {
        let limit = tokio::time::Instant::now() + LIMIT;
        while tokio::time::Instant::now() < limit {
            let answer = self.ask("GET", path).send().await;
            if answer.json["state"] == state {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("{path} never was {state}");
    }

    /// An instance that is there.
    pub(crate) async fn made(&self, id: &str, plan: &str) {
        assert_eq!(self.put(id, &wanted(plan)).await.status, 202);
        self.until(id, "succeeded").await;
    }
}

impl OsbRequest {
    /// Replaces what was there under this name; no value takes it away.
    pub(crate) fn header_bytes(mut self, name: &str, value: Option<&[u8]>) -> OsbRequest {
        self.headers.retain(|(other, _)| other != name);
        self.headers.extend(value.map(|value| (name.to_owned(), value.to_vec())));
        self
    }

    pub(crate) fn header(self, name: &str, value: &str) -> OsbRequest {
        self.header_bytes(name, Some(value.as_bytes()))
    }

    pub(crate) fn without(self, name: &str) -> OsbRequest {
        self.header_bytes(name, None)
    }

    pub(crate) fn json(self, body: &Value) -> OsbRequest {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> OsbRequest {
        self.body = body.into();
        self
    }

    /// Nothing that a client sends may bring the broker into trouble.
    pub(crate) async fn send(self) -> OsbResponse {
        let line = format!("{} {}", self.method, self.path);
        let answer = self.send_failing().await;
        assert!(answer.status < 500, "{line}: {answer:?}");
        answer
    }

    pub(crate) async fn send_failing(self) -> OsbResponse {
        let mut request = Request::builder().method(self.method.as_str()).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(name, value.as_slice());
        }
        let response = self.router.clone().oneshot(request.body(self.body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(to_bytes(body, 16 << 20).await.unwrap().to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        let answer = OsbResponse { status: parts.status.as_u16(), headers: parts.headers, text, json };
        answer.has_what_every_answer_has(&self.method, &self.path);
        answer
    }
}

impl OsbResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Checks the status and the code of a refusal.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, code: Option<&str>) -> &OsbResponse {
        assert_eq!((self.status, self.json["error"].as_str()), (status, code), "{}", self.text);
        self
    }

    pub(crate) fn operation(&self) -> &str {
        self.json["operation"].as_str().unwrap_or_else(|| panic!("no operation in {}", self.text))
    }

    #[track_caller]
    fn has_what_every_answer_has(&self, method: &str, path: &str) {
        let line = format!("{method} {path}");
        assert!(self.headers.contains_key("x-broker-api-request-identity"), "{line}");
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{line}");
        assert!(!self.header("cache-control").is_empty(), "{line}");
        if self.status != 304 && method != "HEAD" {
            assert_eq!(self.header("content-type"), "application/json", "{line}: {}", self.text);
            assert!(self.json.is_object(), "{line}: {}", self.text);
        }
        if self.status >= 400 && method != "HEAD" {
            assert!(!self.json["description"].as_str().unwrap().is_empty(), "{line}: {}", self.text);
            let known = ["error", "description"];
            assert!(
                self.json.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())),
                "{}",
                self.text
            );
        }
        // The client for Kubernetes knows these by their words too.
        let words = match self.json["error"].as_str() {
            Some("AsyncRequired") => {
                Some("This service plan requires client support for asynchronous service operations.")
            }
            Some("ConcurrencyError") => {
                Some("The Service Broker does not support concurrent requests that mutate the same resource.")
            }
            _ => None,
        };
        assert!(words.is_none_or(|words| self.json["description"] == words), "{line}: {}", self.text);
        assert_eq!(self.status == 401, self.headers.contains_key("www-authenticate"), "{line}");
        self.is_documented(method, path);
    }

    #[track_caller]
    fn is_documented(&self, method: &str, path: &str) {
        static API: LazyLock<Value> =
            LazyLock::new(|| serde_json::to_value(::runtimes::api::osb::openapi()).unwrap());
        let segments: Vec<&str> = path.split('?').next().unwrap().split('/').skip(1).collect();
        let template = match segments[segments.iter().position(|part| *part == "v2").unwrap()..] {
            ["v2", "catalog"] => "/v2/catalog",
            ["v2", "service_instances", id] if !id.is_empty() => "/v2/service_instances/{instance_id}",
            ["v2", "service_instances", _, "last_operation"] => {
                "/v2/service_instances/{instance_id}/last_operation"
            }
            ["v2", "service_instances", _, "service_bindings", id] if !id.is_empty() => {
                "/v2/service_instances/{instance_id}/service_bindings/{binding_id}"
            }
            ["v2", "service_instances", _, "service_bindings", _, "last_operation"] => {
                "/v2/service_instances/{instance_id}/service_bindings/{binding_id}/last_operation"
            }
            _ => {
                return assert!(
                    [400, 401, 404, 412].contains(&self.status),
                    "{method} {path}: {}",
                    self.status
                );
            }
        };
        let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
        let operation = &API["paths"][template][method.as_str()];
        let status = self.status.to_string();
        // A method that a path does not take may be refused for something else before.
        let is_refused = operation.is_null() && [400, 401, 403, 405, 412, 413].contains(&self.status);
        let is_known = is_refused || operation["responses"][&status].is_object();
        assert!(is_known, "{method} {template}: {status} is not documented");
    }
}
