//! One engine with its APIs, and a caller that checks what every answer must have.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::launch::api::{LaunchApi, LaunchApiParts};
use ::runtimes::api::RuntimesApi;
use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::catalog::Catalog;
use ::serverless::api::ServerlessApi;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use declared::{Declarations, Reach, StepClient};
use engine::prelude::{ExposeSecret, async_trait};
use engine::secret::{KeyRing, SharedRing};
use engine::{Clock, Engine, Proof, Role, Timestamp, WallClock};
use serde_json::{Value, json};
use server::rights::{RIGHTS, Right};
use server::{Code, Endpoints, Inside, Meter, Principal, PrincipalSubject, Server, ServerSettings, tokens};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use utoipa::openapi::OpenApi;

use crate::letters;
use crate::shaky_store::ShakyStore;

pub(crate) struct ApiFixture {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<ShakyStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) router: Router,
    pub(crate) inside: Inside,
    pub(crate) closing: CancellationToken,
    pub(crate) reader: String,
    pub(crate) operator: String,
    pub(crate) admin: String,
    pub(crate) expired: String,
}

/// The clock on the wall, turned forward by hand.
#[derive(Default)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn turn(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        WallClock.now().plus(Duration::from_micros(self.0.load(Ordering::SeqCst)))
    }
    async fn sleep(&self, duration: Duration) {
        WallClock.sleep(duration).await;
    }
    fn chance(&self) -> u64 {
        WallClock.chance()
    }
}

/// What every product has without anything of its own.
pub(crate) fn endpoints() -> Vec<Arc<dyn Endpoints>> {
    endpoints_with(None)
}

pub(crate) fn endpoints_with(launch: Option<LaunchApiParts>) -> Vec<Arc<dyn Endpoints>> {
    vec![
        Arc::new(RuntimesApi {
            catalog: Arc::new(Catalog::built_in()),
            osb: OsbSettings::default(),
            backends: None,
            runtimes: Arc::default(),
        }),
        Arc::new(ServerlessApi(None)),
        Arc::new(LaunchApi(launch)),
    ]
}

pub(crate) fn openapi() -> OpenApi {
    server::openapi(&endpoints())
}

/// The rights of the platform's API with those of the products.
pub(crate) fn all_rights() -> &'static [Right] {
    static ALL: LazyLock<Vec<Right>> = LazyLock::new(|| {
        let products = endpoints();
        RIGHTS.iter().chain(products.iter().flat_map(|product| product.rights())).cloned().collect()
    });
    &ALL
}

pub(crate) fn settings() -> ServerSettings {
    ServerSettings { stream_poll: Duration::from_millis(10), ..ServerSettings::default() }
}

pub(crate) async fn world() -> ApiFixture {
    world_with(settings()).await
}

pub(crate) async fn world_with(settings: ServerSettings) -> ApiFixture {
    let world = sleeping_world_with(settings).await;
    world.engine.start(None).await.unwrap();
    world
}

/// A world in which no node works.
pub(crate) async fn sleeping_world_with(settings: ServerSettings) -> ApiFixture {
    let store = Arc::new(ShakyStore::default());
    let clock = Arc::new(ManualClock::default());
    let meter = Arc::new(Meter::new());
    let ring = SharedRing::new(KeyRing::generate());
    let engine = Engine::builder(store.clone(), clock.clone(), ring)
        .workflow(letters::plan())
        .observer(meter.clone())
        .build();
    let closing = CancellationToken::new();
    let doors = Server {
        engine: engine.clone(),
        access: store.clone(),
        people: store.clone(),
        meter,
        settings,
        bearers: None,
        endpoints: endpoints(),
        workflows: Some(Declarations::new(engine.clone(), StepClient::new(Reach::default()).unwrap())),
        diagnostics: server::Diagnostics::default(),
        closing: closing.clone(),
    };
    let now = clock.now();
    let token = |name: &'static str, role, expires_at| {
        let store = store.clone();
        async move {
            let token = tokens::issue(&*store, name, role, now, expires_at).await.unwrap();
            token.expose_secret().to_owned()
        }
    };
    let (router, inside) = server::open(doors);
    ApiFixture {
        reader: token("rita", Role::Reader, None).await,
        operator: token("oscar", Role::Operator, None).await,
        admin: token("ada", Role::Admin, None).await,
        expired: token("eve", Role::Admin, Some(now)).await,
        router,
        inside,
        engine,
        store,
        clock,
        closing,
    }
}

/// A request being put together.
pub(crate) struct RequestBuilder {
    router: Router,
    /// Past the wire, as a user who is known already.
    inside: Inside,
    principal: Option<Principal>,
    request: axum::http::request::Builder,
    body: Body,
    method: Method,
    path: String,
}

pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl ApiFixture {
    pub(crate) fn call(&self, method: &str, path: &str) -> RequestBuilder {
        let method: Method = method.parse().unwrap();
        RequestBuilder {
            router: self.router.clone(),
            inside: self.inside.clone(),
            principal: None,
            request: Request::builder().method(method.clone()).uri(path),
            body: Body::empty(),
            method,
            path: path.to_owned(),
        }
    }

    /// As an admin.
    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.call("GET", path).token(&self.admin).send().await
    }

    /// As an admin.
    pub(crate) async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.call("POST", path).token(&self.admin).json(&body).send().await
    }

    /// Submits and answers the id.
    pub(crate) async fn submit(&self, params: Value) -> String {
        let answer = self.post("/operations", json!({"workflow": "test.letters", "params": params})).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        answer.json["id"].as_str().unwrap().to_owned()
    }

    /// Submits and waits until the operation has this phase.
    pub(crate) async fn run_until(&self, params: Value, phase: &str) -> String {
        let id = self.submit(params).await;
        self.until(&id, phase).await;
        id
    }

    pub(crate) async fn until(&self, id: &str, phase: &str) -> Value {
        let mut last = Value::Null;
        for _ in 0..1000 {
            last = self.get(&format!("/operations/{id}")).await.json;
            if last["phase"] == phase && last["asked"].is_null() {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("operation never became {phase}: {last:#}");
    }
}

impl RequestBuilder {
    pub(crate) fn token(self, token: &str) -> RequestBuilder {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// A user of this server who has signed in.
    pub(crate) fn signed_in(mut self, name: &str, role: Role) -> RequestBuilder {
        let subject =
            PrincipalSubject { name: name.to_owned(), roles: vec![role], ..PrincipalSubject::default() };
        self.principal = Some(Principal::of(Proof::Password { digest: String::new() }, subject));
        self
    }

    /// A principal without a role, who may do this.
    pub(crate) fn granted(mut self, grants: &[&str]) -> RequestBuilder {
        let grants = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let subject = PrincipalSubject { name: "cleo".to_owned(), grants, ..PrincipalSubject::default() };
        self.principal = Some(Principal::of(Proof::Password { digest: String::new() }, subject));
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> RequestBuilder {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn header_bytes(mut self, name: &str, value: &[u8]) -> RequestBuilder {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn json(self, body: &Value) -> RequestBuilder {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Body>) -> RequestBuilder {
        self.body = body.into();
        self
    }

    /// Only the head of the answer is read.
    pub(crate) async fn open(self) -> axum::response::Response {
        let request = self.request.body(self.body).unwrap();
        match self.principal {
            Some(principal) => self.inside.call(&principal, request).await,
            None => self.router.oneshot(request).await.unwrap(),
        }
    }

    pub(crate) async fn send(self) -> TestResponse {
        let (method, path) = (self.method.clone(), self.path.clone());
        let response = self.open().await;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 16 * 1024 * 1024).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        let answer = TestResponse { status: parts.status.as_u16(), headers: parts.headers, text, json };
        answer.has_what_every_answer_has(&method, &path);
        answer
    }
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Checks the status and the code of a refusal.
    #[track_caller]
    pub(crate) fn is(self, status: u16, code: &str) -> TestResponse {
        assert_eq!((self.status, self.json["code"].as_str()), (status, Some(code)), "{}", self.text);
        self
    }

    #[track_caller]
    fn has_what_every_answer_has(&self, method: &Method, path: &str) {
        assert!(!self.header("x-request-id").is_empty(), "{method} {path}");
        assert_eq!(self.header("x-content-type-options"), "nosniff", "{method} {path}");
        assert_eq!(self.header("x-frame-options"), "DENY", "{method} {path}");
        assert!(self.header("content-security-policy").contains("default-src 'none'"), "{method} {path}");
        assert!(!self.header("cache-control").is_empty(), "{method} {path}");
        // Only the reference for people is made of pages.
        assert_eq!(
            self.text.contains("<html"),
            self.header("content-type").starts_with("text/html"),
            "{path}"
        );
        assert!(path.starts_with("/docs") || !self.text.contains("<html"), "{}", self.text);
        if self.status >= 400 && *method != Method::HEAD {
            self.is_a_problem();
        }
        self.is_documented(method, path);
    }

    #[track_caller]
    fn is_a_problem(&self) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let name = self.json["code"].as_str().unwrap();
        let code = Code::named(name).unwrap_or_else(|| panic!("unknown code {name}"));
        assert_eq!(self.json["status"], self.status);
        assert_eq!(code.status(), StatusCode::from_u16(self.status).unwrap());
        assert_eq!(self.json["title"], code.title());
        assert_eq!(self.json["type"], format!("/errors/{name}"));
        assert_eq!(self.json["instance"], self.header("x-request-id"));
        assert!(!self.json["detail"].as_str().unwrap().is_empty());
    }

    /// Whatever a route answers is in the description of the API.
    #[track_caller]
    fn is_documented(&self, method: &Method, path: &str) {
        static API: LazyLock<Value> =
            LazyLock::new(|| serde_json::to_value(crate::world::openapi()).unwrap());
        let Some(template) = template(path) else {
            assert_eq!(self.status, 404, "{method} {path} is not in the table");
            return;
        };
        let method = if *method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
        let operation = &API["paths"][template][method.as_str()];
        if operation.is_null() {
            assert_eq!(self.status, 405, "{method} {path} is not documented");
        } else {
            let status = self.status.to_string();
            assert!(
                operation["responses"][&status].is_object(),
                "{method} {template}: {status} is not documented"
            );
        }
    }
}

fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap();
    let fits = |template: &str| {
        let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        // The router takes an empty name in the middle of a path, but not at its end.
        let same = |(a, b): (&&str, &&str)| a == b || a.starts_with('{');
        a.len() == b.len() && !path.ends_with('/') && a.iter().zip(&b).all(same)
    };
    let mut templates: Vec<&str> = all_rights().iter().map(|right| right.path).collect();
    templates.sort_by_key(|template| template.contains('{'));
    templates.into_iter().find(|template| fits(template))
}
