//! The launch API with a principal of each kind, and a caller that checks what every answer must have.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::launch::api::{AzureOffering, BASE, BuildInfo, LaunchApiParts, Probe, ReadyService};
use ::launch::model::sources::{DefaultSource, SourceDirectory};
use ::launch::model::{LaunchSettings, Launches};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::prelude::ExposeSecret;
use engine::secret::{KeyRing, SharedRing};
use engine::{Clock, Engine, Role};
use sandbox::Sandbox;
use serde_json::{Value, json};
use server::Networks;
use server::{Meter, Server, ServerSettings, tokens};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::launch_people::{Answering, Granting, PlainIssuer};
use crate::shaky_store::ShakyStore;
use crate::world::{ManualClock, settings};

/// A proxy whose headers are believed, and a user who is not.
pub(crate) const PROXY: &str = "10.1.2.3:4711";
pub(crate) const OUTSIDER: &str = "192.0.2.7:4711";
pub(crate) const ORG: &str = "000013";

pub(crate) struct LaunchFixture {
    sandbox: Sandbox,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<ShakyStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) rbac: Arc<Granting>,
    pub(crate) router: Router,
    tokens: BTreeMap<Role, String>,
}

pub(crate) async fn launch_world() -> LaunchFixture {
    launch_world_with(settings(), |_| {}).await
}

pub(crate) async fn launch_world_with(
    settings: ServerSettings,
    change: impl FnOnce(&mut LaunchApiParts),
) -> LaunchFixture {
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.unwrap();
    let (store, clock) = (Arc::new(ShakyStore::default()), Arc::new(ManualClock::default()));
    let ring = SharedRing::new(KeyRing::generate());
    let mut launches = Launches::beside(&sandbox.url(), store.clone(), Duration::from_secs(5)).unwrap();
    let directory = SourceDirectory::built_in(store.clone()).sealed_by(ring.clone());
    launches.accounts = directory.with_defaults(DefaultSource::all_of_sandbox());
    let launches = Arc::new(launches.with_settings(quick()));
    let engine = Engine::builder(store.clone(), clock.clone(), ring)
        .workflow(::launch::workflows::source_check::plan(&launches))
        .workflow(::launch::workflows::launch::plan(&launches))
        .workflow(::launch::workflows::termination::plan(&launches))
        .workflow(::launch::workflows::public_key_deletion::plan(&launches))
        .build();
    let rbac = Arc::new(Granting::default());
    let mut api_parts = LaunchApiParts {
        trusted_proxies: Networks::parse(["10.1.0.0/16"]).unwrap(),
        rbac: Some(rbac.clone()),
        default_org: ORG.into(),
        probes: [
            (ReadyService::Rbac, Arc::new(Answering(true)) as Arc<dyn Probe>),
            (ReadyService::ImageBuilder, Arc::new(Answering(false))),
        ]
        .into(),
        features_off: BTreeSet::from(["provisioning.decommissioning".to_owned()]),
        azure_offering: Some(AzureOffering {
            tenant_id: "t-1".into(),
            principal_id: "p-1".into(),
            name: "machines".into(),
            description: "launches them".into(),
        }),
        build: BuildInfo { version: "v7".into(), time: "today".into(), environment: "test".into() },
        ..LaunchApiParts::new(launches)
    };
    change(&mut api_parts);
    let now = clock.now();
    let mut tokens = BTreeMap::new();
    for role in Role::ALL {
        let token = tokens::issue(&*store, role.as_str(), role, now, None).await.unwrap();
        tokens.insert(role, token.expose_secret().to_owned());
    }
    let router = server::router(Server {
        engine: engine.clone(),
        access: store.clone(),
        people: store.clone(),
        meter: Arc::new(Meter::new()),
        settings,
        bearers: Some(Arc::new(PlainIssuer)),
        endpoints: crate::world::endpoints_with(Some(api_parts)),
        workflows: None,
        diagnostics: server::Diagnostics::default(),
        closing: CancellationToken::new(),
    });
    LaunchFixture { sandbox, engine, store, clock, rbac, router, tokens }
}

/// Longer than an external system on the same machine takes.
fn quick() -> LaunchSettings {
    let short = Duration::from_millis(20);
    LaunchSettings {
        poll_first: short,
        poll_max: short * 2,
        polls_per_second: 1000,
        instance_poll: short,
        retry_first: short,
        settle: short * 5,
        ..LaunchSettings::default()
    }
}

/// The header for a user of an organisation.
pub(crate) fn identity(org: &str, user: &str) -> String {
    let identity = json!({"type": "User", "org_id": org, "user": {"username": user}});
    STANDARD.encode(json!({"identity": identity, "entitlements": {}}).to_string())
}

/// A token of the issuer that says this.
pub(crate) fn signed(claims: &Value) -> String {
    STANDARD.encode(claims.to_string())
}

/// A request being put together.
pub(crate) struct LaunchRequestBuilder {
    router: Router,
    method: String,
    path: String,
    request: axum::http::request::Builder,
    body: Body,
}

pub(crate) struct LaunchResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl LaunchFixture {
    /// From an outsider, who shows nothing.
    pub(crate) fn launch_request(&self, method: &str, path: &str) -> LaunchRequestBuilder {
        LaunchRequestBuilder {
            router: self.router.clone(),
            method: method.into(),
            path: path.into(),
            request: Request::builder().method(method).uri(format!("{BASE}{path}")),
            body: Body::empty(),
        }
        .from(OUTSIDER)
    }

    /// From an outsider, outside the base path.
    pub(crate) async fn at_root(&self, path: &str) -> LaunchResponse {
        let mut launch_request = self.launch_request("GET", path);
        launch_request.request = Request::builder().method("GET").uri(path);
        launch_request.answer().await
    }

    /// Turns a knob of the sandbox.
    pub(crate) async fn turn(&self, path: &str, body: &Value) {
        self.control(reqwest::Method::POST, path, body).await;
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) {
        self.control(reqwest::Method::PUT, path, body).await;
    }

    async fn control(&self, method: reqwest::Method, path: &str, body: &Value) {
        let url = format!("{}{path}", self.sandbox.url());
        let answer = reqwest::Client::new().request(method, url).json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
    }

    /// What the sandbox shows.
    pub(crate) async fn look(&self, path: &str) -> Value {
        let answer = reqwest::get(format!("{}{path}", self.sandbox.url())).await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// What stands in the external systems, and how much of it.
    pub(crate) async fn standing(&self, kind: &str) -> u64 {
        let summary = self.look("/ledger/summary").await;
        summary[kind]["standing"].as_u64().unwrap_or(0)
    }

    pub(crate) fn token(&self, role: Role) -> &str {
        &self.tokens[&role]
    }

    /// As a launcher of the organisation that tokens act for.
    pub(crate) async fn get(&self, path: &str) -> LaunchResponse {
        self.launch_request("GET", path).bearer(self.token(Role::Launcher)).send().await
    }

    /// As a launcher.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> LaunchResponse {
        self.launch_request("POST", path).bearer(self.token(Role::Launcher)).json(body).send().await
    }
}

impl LaunchRequestBuilder {
    pub(crate) fn from(mut self, peer: &str) -> LaunchRequestBuilder {
        self.request = self.request.extension(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> LaunchRequestBuilder {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    pub(crate) fn bearer(self, token: &str) -> LaunchRequestBuilder {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Through the proxy that is trusted.
    #[expect(clippy::wrong_self_convention, reason = "requests are put together as sentences")]
    pub(crate) fn as_user(self, org: &str, user: &str) -> LaunchRequestBuilder {
        self.from(PROXY).header("x-rh-identity", identity(org, user))
    }

    pub(crate) fn json(self, body: &Value) -> LaunchRequestBuilder {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> LaunchRequestBuilder {
        self.body = body.into();
        self
    }

    pub(crate) async fn send(self) -> LaunchResponse {
        let (method, path) = (self.method.clone(), self.path.clone());
        let reply = self.answer().await;
        reply.has_what_every_answer_has(&method, &path);
        reply
    }

    async fn answer(self) -> LaunchResponse {
        let response = self.router.oneshot(self.request.body(self.body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(to_bytes(body, 16 * 1024 * 1024).await.unwrap().to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        LaunchResponse { status: parts.status.as_u16(), headers: parts.headers, text, json }
    }
}

impl LaunchResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Checks the status and the code of a refusal.
    #[track_caller]
    pub(crate) fn is(self, status: u16, code: &str) -> LaunchResponse {
        assert_eq!((self.status, self.json["code"].as_str()), (status, Some(code)), "{}", self.text);
        self
    }

    #[track_caller]
    #[expect(clippy::wrong_self_convention, reason = "the reply goes on to be read")]
    pub(crate) fn is_ok(self) -> LaunchResponse {
        assert_eq!(self.status, 200, "{}", self.text);
        self
    }

    #[track_caller]
    fn has_what_every_answer_has(&self, method: &str, path: &str) {
        let what = format!("{method} {path}: {} {}", self.status, self.text);
        assert!(!self.header("x-request-id").is_empty(), "{what}");
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{what}");
        assert_eq!(self.header("x-rh-version"), "v7 (today)", "{what}");
        assert!(!self.header("cache-control").is_empty(), "{what}");
        assert!(!self.text.contains("10.0.0."), "{what} shows what is inside");
        if self.status >= 400 && method != "HEAD" {
            self.is_an_error(&what);
        }
        if [429, 503].contains(&self.status) {
            assert!(self.header("retry-after").parse::<u32>().unwrap() >= 1, "{what}");
        }
        self.is_documented(method, path, &what);
    }

    #[track_caller]
    fn is_an_error(&self, what: &str) {
        if self.header("content-type").starts_with("text/plain") {
            assert!(self.status == 400 && self.text.starts_with("Bad Request: "), "{what}");
            return;
        }
        assert_eq!(self.header("content-type"), "application/json", "{what}");
        let text = |name: &str| self.json[name].as_str().unwrap_or_else(|| panic!("no {name} in {what}"));
        assert_eq!(text("trace_id"), self.header("x-request-id"), "{what}");
        assert_eq!((text("version"), text("build_time"), text("environment")), ("v7", "today", "test"));
        assert!(!text("msg").is_empty() && !text("error").is_empty() && !text("code").is_empty(), "{what}");
        assert!(self.json["edge_id"].is_string(), "{what}");
    }

    /// Whatever a route answers is in the description of the API.
    #[track_caller]
    fn is_documented(&self, method: &str, path: &str, what: &str) {
        static API: LazyLock<Value> =
            LazyLock::new(|| serde_json::to_value(::launch::api::openapi()).unwrap());
        if path.starts_with("/reservations/") && (self.status, &self.json["field"]) == (400, &json!("type")) {
            return;
        }
        let Some(template) = template(path) else {
            assert_eq!(self.status, 404, "{what}: this path is in no table");
            return;
        };
        let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
        let operation = &API["paths"][template][method.as_str()];
        if operation.is_null() {
            assert_eq!(self.status, 405, "{what}");
        } else {
            assert!(operation["responses"][self.status.to_string()].is_object(), "{what} is not documented");
        }
    }
}

fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap();
    let path = path.strip_suffix('/').unwrap_or(path);
    let fits = |template: &str| {
        let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        let same = |(a, b): (&&str, &&str)| a == b || (a.starts_with('{') && !b.is_empty());
        a.len() == b.len() && a.iter().zip(&b).all(same)
    };
    let mut templates: Vec<&str> = ::launch::api::rights::RIGHTS.iter().map(|right| right.path).collect();
    templates.sort_by_key(|template| template.contains('{'));
    templates.into_iter().find(|template| fits(template))
}
