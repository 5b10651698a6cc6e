//! One server with all its APIs and its console, in process, beside a sandbox.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::api::Permission;
use ::launch::api::LaunchApi;
use ::launch::api::{LaunchApiParts, Permissions};
use ::launch::model::sources::{DefaultSource, SourceDirectory};
use ::launch::model::{LaunchSettings, Launches};
use ::runtimes::api::RuntimesApi;
use ::runtimes::api::osb::OsbSettings;
use ::runtimes::model::catalog::Catalog;
use ::serverless::api::ServerlessApi;
use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use console::{Console, ConsoleSettings, Pages};
use engine::secret::{ExposeSecret, KeyRing, SharedRing};
use engine::store::MemoryStore;
use engine::{Clock, Engine, Role, Timestamp, WallClock};
use sandbox::Sandbox;
use serde_json::{Value, json};
use server::Networks;
use server::{
    CodeFlow, CodeFlowSettings, Endpoints, Inside, Meter, Oidc, OidcSettings, Server, ServerSettings, tokens,
};
use tokio_util::sync::CancellationToken;

use crate::browser::Browser;
use crate::issuer::{AUDIENCE, Issuer};

/// A proxy whose headers are believed.
pub(crate) const PROXY: &str = "10.1.2.3:4711";
/// On whose behalf credentials of the server itself act.
pub(crate) const SERVER_ORG: &str = "default";
pub(crate) const PASSWORD: &str = "correct horse battery";
/// What the principals of the role limited have, and the group `red`.
const GRANTS: [&str; 2] = ["read:launch*", "submit:launch"];

pub(crate) struct AuthFixture {
    pub(crate) sandbox: Sandbox,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) issuer: Arc<Issuer>,
    pub(crate) rbac: Arc<ScriptedGrants>,
    pub(crate) api: Router,
    pub(crate) inside: Inside,
    pub(crate) console: Router,
    tokens: BTreeMap<Role, String>,
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

/// Grants what a test says, to users by their name.
#[derive(Default)]
pub(crate) struct ScriptedGrants(Mutex<BTreeMap<String, Vec<Permission>>>);

impl ScriptedGrants {
    pub(crate) fn grant(&self, user: &str, permissions: &[String]) {
        let parsed = permissions.iter().map(|text| Permission::parse(text).unwrap()).collect();
        self.0.lock().unwrap().insert(user.to_owned(), parsed);
    }
}

#[async_trait]
impl Permissions for ScriptedGrants {
    async fn of(&self, header: &str) -> Result<Vec<Permission>, String> {
        let document: Value = serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap();
        let user = document["identity"]["user"]["username"].as_str().unwrap();
        Ok(self.0.lock().unwrap().get(user).cloned().unwrap_or_default())
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) location: String,
    pub(crate) cookies: Vec<String>,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) async fn read(response: Response<Body>) -> Reply {
        let (parts, body) = response.into_parts();
        let is_stream = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let text = if is_stream { Vec::new() } else { to_bytes(body, 1 << 24).await.unwrap().into() };
        let text = String::from_utf8_lossy(&text).into_owned();
        let value = |name: &str| -> Vec<String> {
            let values = parts.headers.get_all(name).iter();
            values.map(|value| value.to_str().unwrap().to_owned()).collect()
        };
        Reply {
            status: parts.status.as_u16(),
            location: value("location").pop().unwrap_or_default(),
            cookies: value("set-cookie"),
            json: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        }
    }
}

/// The pages of all products.
pub(crate) fn pages() -> Pages {
    let mut pages = Pages::default();
    ::runtimes::pages(&mut pages);
    ::serverless::pages(&mut pages);
    ::launch::pages(&mut pages);
    pages
}

/// What all products add.
pub(crate) fn endpoints(launch: Option<LaunchApiParts>) -> Vec<Arc<dyn Endpoints>> {
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

impl AuthFixture {
    pub(crate) async fn new() -> AuthFixture {
        let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(ManualClock::default()));
        let (issuer, rbac) = (Issuer::start().await, Arc::new(ScriptedGrants::default()));
        let ring = SharedRing::new(KeyRing::generate());
        let mut launches = Launches::beside(&sandbox.url(), store.clone(), Duration::from_secs(5)).unwrap();
        let directory = SourceDirectory::built_in(store.clone()).sealed_by(ring.clone());
        launches.accounts = directory.with_defaults(DefaultSource::all_of_sandbox());
        let launches = Arc::new(launches.with_settings(quick()));
        let engine = Engine::builder(store.clone(), clock.clone(), ring)
            .workflow(::launch::workflows::source_check::plan(&launches))
            .workflow(::launch::workflows::launch::plan(&launches))
            .workflow(::launch::workflows::termination::plan(&launches))
            .build();
        let grants = GRANTS.map(|grant| ("red".to_owned(), grant.parse().unwrap())).to_vec();
        let settings = OidcSettings::new(issuer.url.clone(), AUDIENCE).with_grants(grants);
        let client = CodeFlowSettings {
            client_id: AUDIENCE.to_owned(),
            client_secret: None,
            scopes: vec!["openid".to_owned()],
        };
        let code_flow = CodeFlow::new(settings.clone(), client, clock.clone()).unwrap();
        let api_parts = LaunchApiParts {
            trusted_proxies: Networks::parse(["10.1.0.0/16"]).unwrap(),
            rbac: Some(rbac.clone()),
            default_org: SERVER_ORG.to_owned(),
            ..LaunchApiParts::new(launches)
        };
        let mut own = BTreeMap::new();
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Limited) {
            let token = tokens::issue(&*store, role.as_str(), role, clock.now(), None).await.unwrap();
            own.insert(role, token.expose_secret().to_owned());
        }
        let meter = Arc::new(Meter::new());
        let (api, inside) = server::open(Server {
            engine: engine.clone(),
            access: store.clone(),
            people: store.clone(),
            meter,
            settings: ServerSettings::default(),
            bearers: Some(Arc::new(Oidc::new(settings, clock.clone()).unwrap())),
            endpoints: endpoints(Some(api_parts)),
            workflows: None,
            diagnostics: server::Diagnostics::default(),
            closing: CancellationToken::new(),
        });
        let console = console::router(Console {
            inside: inside.clone(),
            people: store.clone(),
            code_flow: Some(Arc::new(code_flow)),
            settings: ConsoleSettings::default(),
            pages: pages(),
        });
        let mut world =
            AuthFixture { sandbox, engine, store, clock, issuer, rbac, api, inside, console, tokens: own };
        world.add_people().await;
        world
    }

    /// A token with grants, and a user of each role.
    async fn add_people(&mut self) {
        let limited = json!({"name": "limited", "role": "limited", "grants": GRANTS});
        let made = self.call("POST", "/tokens", Some(&limited), &[self.bearer(Role::Admin)]).await;
        assert_eq!(made.status, 201, "{}", made.text);
        self.tokens.insert(Role::Limited, made.json["token"].as_str().unwrap().to_owned());
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Broker) {
            let grants: &[&str] = if role == Role::Limited { &GRANTS } else { &[] };
            let user = json!({"name": role.as_str(), "role": role, "grants": grants, "password": PASSWORD});
            let made = self.call("POST", "/users", Some(&user), &[self.bearer(role)]).await;
            assert_eq!(made.status, if role == Role::Admin { 201 } else { 403 }, "{}", made.text);
            if role != Role::Admin {
                let made = self.call("POST", "/users", Some(&user), &[self.bearer(Role::Admin)]).await;
                assert_eq!(made.status, 201, "{}", made.text);
            }
        }
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now().0 / 1_000_000
    }

    pub(crate) fn token(&self, role: Role) -> &str {
        &self.tokens[&role]
    }

    pub(crate) fn bearer(&self, role: Role) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", self.token(role)))
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.console.clone())
    }

    /// A call to the APIs over the wire.
    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, String)],
    ) -> Reply {
        let request = request(method, path, body, headers);
        Reply::read(tower::ServiceExt::oneshot(self.api.clone(), request).await.unwrap()).await
    }
}

/// With the version that the service broker wants to see. A request with an identity header comes from the proxy.
pub(crate) fn request(
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &[(&str, String)],
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).header("x-broker-api-version", "2.17");
    for (name, value) in headers {
        request = request.header(*name, value);
        if *name == "x-rh-identity" {
            request = request.extension(ConnectInfo(PROXY.parse::<SocketAddr>().unwrap()));
        }
    }
    match body {
        Some(body) => {
            request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
        }
        None => request.body(Body::empty()).unwrap(),
    }
}

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
