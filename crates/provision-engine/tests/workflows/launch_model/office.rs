//! A desk to ask at. A closed one has an engine that never begins to work and no clients of external systems; an open one has the
//! external systems of the sandbox.

use std::sync::Arc;
use std::time::Duration;

use ::launch::api::types::NewParameters;
use ::launch::model::accept::{self, AcceptedLaunch};
use ::launch::model::api_error::LaunchApiError;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::event_rate::EventRateLimit;
use ::launch::model::form::LaunchForm;
use ::launch::model::params::{LaunchOwner, RequestedImage};
use ::launch::model::public_keys::{self, StoredPublicKey};
use ::launch::model::sources::{DefaultSource, SourceDirectory};
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::notice::{self, Notices};
use ::launch::workflows::{public_key_deletion, source_check};
use api::{Format as _, Insights};
use base64::Engine as _;
use engine::store::{MemoryStore, Store};
use engine::{Clock, Engine, EngineBuilder, Inspection, OperationId, WallClock};
use reqwest::Method;
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::{TestEngine, key_ring};

pub(crate) struct Office {
    sandbox: Option<Sandbox>,
    http: reqwest::Client,
    pub(crate) launches: Arc<Launches>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Engine,
}

pub(crate) const ACCOUNT: &str = "123456789012";
pub(crate) const AMI: &str = "ami-0abc0000000000001";
/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9";
const TIMEOUT: Duration = Duration::from_secs(5);
/// Every wait in these tests ends by then.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Office {
    pub(crate) fn closed() -> Office {
        Office::closed_with(LaunchSettings::default(), EventRateLimit::new(1000))
    }

    pub(crate) fn closed_with(settings: LaunchSettings, event_rate: EventRateLimit) -> Office {
        Office::over(Arc::new(MemoryStore::new()), Arc::new(WallClock), settings, event_rate)
    }

    /// A closed desk whose notices have somewhere to go.
    pub(crate) fn telling(notices: &Notices) -> Office {
        let mut office = Office::closed();
        office.engine = plan(&office.store, Arc::new(WallClock), &office.launches, notices).build();
        office
    }

    /// The same closed desk over another store.
    pub(crate) fn moved_to(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Office {
        let accounts =
            SourceDirectory::built_in(Arc::clone(&store)).with_defaults(DefaultSource::all_of_sandbox());
        let accounts = accounts.sealed_by(key_ring());
        let event_rate = Arc::new(EventRateLimit::new(1000));
        let launches =
            Launches { accounts, event_rate, store: Arc::clone(&store), ..(*self.launches).clone() };
        let launches = Arc::new(launches);
        let engine = plan(&store, clock, &launches, &Notices::none()).build();
        Office { sandbox: None, http: self.http.clone(), launches, store, engine }
    }

    /// A closed desk over a store that others may use as well.
    pub(crate) fn over(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        settings: LaunchSettings,
        event_rate: EventRateLimit,
    ) -> Office {
        let launches = launches(NOWHERE, &store, settings, event_rate);
        let engine = plan(&store, clock, &launches, &Notices::none()).build();
        Office { sandbox: None, http: reqwest::Client::new(), launches, store, engine }
    }

    /// With external systems, and an engine that works.
    pub(crate) async fn open() -> Office {
        Office::open_with(|_, launches| (launches, Notices::none())).await
    }

    pub(crate) async fn open_with(change: impl FnOnce(&Sandbox, Launches) -> (Launches, Notices)) -> Office {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let launches = launches(&sandbox.url(), &store, quick(), EventRateLimit::new(1000));
        let (launches, notices) = change(&sandbox, (*launches).clone());
        let launches = Arc::new(launches);
        let engine = plan(&store, Arc::new(WallClock), &launches, &notices).build();
        engine.start(None).await.unwrap();
        let office = Office { sandbox: Some(sandbox), http: reqwest::Client::new(), launches, store, engine };
        let building = json!({"pending_ms": 5, "building_ms": 20, "uploading_ms": 5, "registering_ms": 5});
        office.call(Method::PUT, "/image-builder/pace", &building).await;
        let instances = json!({"running_ms": 5, "address_ms": 5, "terminate_ms": 5});
        office.call(Method::PUT, "/aws/pace", &instances).await;
        office
    }

    pub(crate) fn url(&self) -> String {
        self.sandbox.as_ref().map_or(NOWHERE.to_owned(), Sandbox::url)
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.url()));
        if method != Method::GET && method != Method::DELETE {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap_or_default()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, &Value::Null).await
    }

    /// How many things of a kind stand in the world now.
    pub(crate) async fn standing(&self, kind: &str) -> usize {
        let ledger = self.get("/ledger").await;
        ledger["effects"].as_array().unwrap().iter().filter(|effect| effect["kind"] == kind).count()
    }

    /// Waits until the operation is over, however it ended.
    pub(crate) async fn ended(&self, id: OperationId) -> Inspection {
        let mut updates = self.engine.event_feed().watch();
        let ending = async {
            loop {
                let inspection = self.engine.inspect(id).await.unwrap().unwrap();
                if inspection.shown.summary.phase.is_final() {
                    return inspection;
                }
                // What happened is in the journal; the feed only says when to look.
                let _ = tokio::time::timeout(LOOK_AGAIN, updates.recv()).await;
            }
        };
        tokio::time::timeout(PATIENCE, ending).await.expect("the operation ends in time")
    }

    pub(crate) async fn launch(
        &self,
        who: &LaunchOwner,
        form: &LaunchForm,
        key: Option<&str>,
    ) -> Result<AcceptedLaunch, LaunchApiError> {
        accept::launch(&self.launches, &self.engine, who, None, form, key).await
    }

    pub(crate) async fn new_key(&self, who: &LaunchOwner, number: u32) -> StoredPublicKey {
        let name = format!("key {number}");
        public_keys::create(&self.engine, who, &name, &key_line(number)).await.unwrap()
    }

    /// A form that is in order, with a key that exists.
    pub(crate) async fn form(&self, who: &LaunchOwner) -> LaunchForm {
        let listed = public_keys::list(&self.engine, who, 1, 0, false).await.unwrap();
        let key = match listed.keys.into_iter().next() {
            Some(key) => key,
            None => self.new_key(who, 1).await,
        };
        launch_only(key.number)
    }
}

fn launches(
    url: &str,
    store: &Arc<dyn Store>,
    settings: LaunchSettings,
    event_rate: EventRateLimit,
) -> Arc<Launches> {
    let launches = Launches::beside(url, Arc::clone(store), TIMEOUT).unwrap().with_settings(settings);
    let accounts = launches.accounts.clone().sealed_by(key_ring());
    Arc::new(Launches { accounts, event_rate: Arc::new(event_rate), ..launches })
}

fn plan(
    store: &Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    launches: &Arc<Launches>,
    notices: &Notices,
) -> EngineBuilder {
    TestEngine::plan(Arc::clone(store), clock)
        .workflow(::launch::workflows::launch::plan(launches))
        .workflow(source_check::plan(launches))
        .workflow(notice::plan(notices))
        .workflow(public_key_deletion::plan(launches))
}

/// As quick as it goes without a turn of the clock.
fn quick() -> LaunchSettings {
    LaunchSettings {
        poll_first: Duration::from_millis(10),
        poll_max: Duration::from_millis(40),
        polls_per_second: 1000,
        instance_poll: Duration::from_millis(10),
        settle: Duration::from_millis(100),
        ..LaunchSettings::default()
    }
}

pub(crate) fn anna() -> LaunchOwner {
    LaunchOwner { org: "000013".into(), account: Some("13".into()), user: "anna".into() }
}

/// A client of another organisation.
pub(crate) fn bert() -> LaunchOwner {
    LaunchOwner { org: "000014".into(), account: None, user: "bert".into() }
}

pub(crate) fn launch_only(pubkey: i64) -> LaunchForm {
    LaunchForm {
        provider: ProviderKind::Aws,
        image: RequestedImage::Cloud { id: AMI.into() },
        parameters: Some(parameters(pubkey)),
        profile: None,
    }
}

pub(crate) fn parameters(pubkey: i64) -> NewParameters {
    NewParameters {
        source_id: "sandbox".into(),
        instance_type: Some("t3.small".into()),
        pubkey_id: Some(pubkey),
        ..NewParameters::default()
    }
}

pub(crate) fn build_request() -> Value {
    json!({
        "distribution": "rhel-9",
        "image_name": "web",
        "image_requests": [{
            "architecture": "x86_64",
            "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
        }],
        "customizations": {"users": [{"name": "root", "password": "hunter2"}]},
    })
}

/// An image that is built first; the parameters come later.
pub(crate) fn build_and_wait() -> LaunchForm {
    LaunchForm {
        provider: ProviderKind::Aws,
        image: RequestedImage::Build { request: build_request() },
        parameters: None,
        profile: None,
    }
}

/// A key of type ed25519 without a private half, different for every number.
pub(crate) fn key_line(number: u32) -> String {
    let mut point = [9; 32];
    point[..4].copy_from_slice(&number.to_be_bytes());
    let blob = [&[0, 0, 0, 11][..], b"ssh-ed25519", &[0, 0, 0, 32], &point].concat();
    format!("ssh-ed25519 {}", base64::engine::general_purpose::STANDARD.encode(blob))
}

/// The fields that are to blame, in the order in which they are told.
pub(crate) fn fields(api_error: &LaunchApiError) -> Vec<&str> {
    api_error.fields.iter().map(|field_error| field_error.field.as_str()).collect()
}

/// The code as clients of the launch API see it.
pub(crate) fn code(api_error: &LaunchApiError) -> String {
    Insights::default().code(api_error).into_owned()
}
