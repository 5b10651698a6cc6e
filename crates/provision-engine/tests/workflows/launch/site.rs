//! The sandbox's cloud and its Image Builder, the launches in front of them, and what is left there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::launch::model::admit;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::params::{
    KeyChoice, LaunchOwner, LaunchParameters, LaunchRequest, Parameters, RequestedImage, RequestedParameters,
};
use ::launch::model::profile::{Profile, ProfileName};
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::View;
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::launch::Launch;
use ::launch::workflows::notice::{self, Notices};
use ::launch::workflows::termination;
use engine::store::{Expect, MemoryStore, Store};
use engine::{EngineBuilder, Inspection, OperationId, Phase, RecordWrites, Resource, Submission, WallClock};
use reqwest::Method;
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::TestEngine;
use uuid::Uuid;

pub(crate) struct LaunchSite {
    sandbox: Sandbox,
    http: reqwest::Client,
    pub(crate) launches: Arc<Launches>,
    pub(crate) store: Arc<dyn Store>,
}

/// A launch that was accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BegunLaunch {
    pub(crate) launch: Uuid,
    pub(crate) id: OperationId,
}

const TIMEOUT: Duration = Duration::from_secs(5);
/// Every wait in these tests ends by then.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
pub(crate) const ACCOUNT: &str = "123456789012";
pub(crate) const AMI: &str = "ami-0abc0000000000001";
pub(crate) const REGION: &str = "us-east-1";

/// As quick as it goes without a turn of the clock.
pub(crate) fn quick() -> LaunchSettings {
    LaunchSettings {
        poll_first: Duration::from_millis(10),
        poll_max: Duration::from_millis(40),
        polls_per_second: 1000,
        address_deadline: Duration::from_secs(20),
        instance_poll: Duration::from_millis(10),
        settle: Duration::from_millis(100),
        retry_first: Duration::from_millis(10),
        capacity_patience: Duration::from_secs(1),
        undo_patience: Duration::from_secs(1),
        ..LaunchSettings::default()
    }
}

impl LaunchSite {
    pub(crate) async fn start() -> LaunchSite {
        LaunchSite::with(quick()).await
    }

    pub(crate) async fn with(settings: LaunchSettings) -> LaunchSite {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let launches = Launches::beside(&sandbox.url(), Arc::clone(&store), TIMEOUT).unwrap();
        let launches = Arc::new(launches.with_settings(settings));
        let site = LaunchSite { sandbox, http: reqwest::Client::new(), launches, store };
        let building = json!({"pending_ms": 5, "building_ms": 20, "uploading_ms": 5, "registering_ms": 5});
        site.put("/image-builder/pace", &building).await;
        site.put("/aws/pace", &json!({"running_ms": 5, "address_ms": 5, "terminate_ms": 5})).await;
        site
    }

    pub(crate) fn url(&self) -> String {
        self.sandbox.url()
    }

    pub(crate) fn builder(&self, store: &Arc<dyn Store>) -> EngineBuilder {
        TestEngine::plan(Arc::clone(store), Arc::new(WallClock))
            .workflow(::launch::workflows::launch::plan(&self.launches))
            .workflow(notice::plan(&Notices::none()))
            .workflow(termination::plan(&self.launches))
    }

    pub(crate) async fn test_engine(&self) -> TestEngine {
        TestEngine::open(self.builder(&self.store), None).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> reqwest::Response {
        let mut request = self.http.request(method, format!("{}{path}", self.sandbox.url()));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await.json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) {
        self.call(Method::POST, path, Some(body)).await;
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) {
        self.call(Method::PUT, path, Some(body)).await;
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.call(Method::DELETE, path, None).await;
    }

    /// What stands in the world, by kind.
    pub(crate) async fn standing(&self, kind: &str) -> usize {
        let ledger = self.get("/ledger").await;
        ledger["effects"].as_array().unwrap().iter().filter(|effect| effect["kind"] == kind).count()
    }

    /// How many were ever made.
    pub(crate) async fn made(&self, kind: &str) -> usize {
        let ledger = self.get("/ledger?all=true").await;
        ledger["effects"].as_array().unwrap().iter().filter(|effect| effect["kind"] == kind).count()
    }

    pub(crate) async fn begin(&self, test_engine: &TestEngine, asked: &LaunchRequest) -> BegunLaunch {
        begin(test_engine, asked).await
    }

    /// Hands parameters in after the request.
    pub(crate) async fn submit_parameters(
        &self,
        test_engine: &TestEngine,
        asked: &LaunchRequest,
        parameters: RequestedParameters,
    ) {
        let (resource, tenant) = (LaunchRecord::resource(asked.launch), asked.owner.tenant());
        let sealed: Parameters = parameters.sealed(&test_engine.engine.sealer(&tenant, &resource));
        let name = LaunchRecord::parameters_of(asked.launch);
        let record_update = Some(sealed.record_update().unwrap());
        assert!(
            test_engine.engine.write_resource(&name, &tenant, Expect::Absent, record_update).await.unwrap()
        );
        test_engine.engine.signal(&name, Value::Null).await.unwrap();
    }

    pub(crate) async fn view(&self, test_engine: &TestEngine, begun: BegunLaunch) -> View {
        view(test_engine, begun).await
    }

    pub(crate) async fn detail(&self, test_engine: &TestEngine, begun: BegunLaunch) -> View {
        let inspection = test_engine.inspect(begun.id).await;
        self.view(test_engine, begun).await.in_detail(&inspection, &test_engine.journal(begun.id).await)
    }

    /// Waits until the record says what is wanted.
    pub(crate) async fn until(
        &self,
        test_engine: &TestEngine,
        begun: BegunLaunch,
        wanted: impl Fn(&View) -> bool,
    ) -> View {
        let looking = async {
            loop {
                let view = self.view(test_engine, begun).await;
                if wanted(&view) {
                    return view;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let Ok(view) = tokio::time::timeout(PATIENCE, looking).await else {
            panic!("still {:#?}", self.detail(test_engine, begun).await);
        };
        view
    }

    /// Waits until the launch says that it waits for this.
    pub(crate) async fn until_it_waits_for(&self, test_engine: &TestEngine, begun: BegunLaunch, what: &str) {
        let is_it = |view: &View| view.waits_for.as_ref().is_some_and(|why| why.contains(what));
        patiently(async || is_it(&self.detail(test_engine, begun).await).then_some(())).await;
    }

    /// Waits until the only build is over, and answers how it ended.
    pub(crate) async fn build_ends(&self) -> String {
        let look = async || {
            let composes = self.get("/image-builder/composes").await;
            let status = composes["composes"][0]["status"].as_str().unwrap().to_owned();
            matches!(status.as_str(), "success" | "failure").then_some(status)
        };
        patiently(look).await
    }

    /// Waits until the operation is over, one way or another, or stuck.
    pub(crate) async fn rests(&self, test_engine: &TestEngine, begun: BegunLaunch) -> (Inspection, View) {
        let resting = test_engine.until(begun.id, |phase| phase.is_final() || phase == Phase::Stuck);
        let Ok(inspection) = tokio::time::timeout(PATIENCE, resting).await else {
            panic!("still {:#?}", self.detail(test_engine, begun).await);
        };
        (inspection, self.view(test_engine, begun).await)
    }
}

/// Looks again until there is something to see.
pub(crate) async fn patiently<T>(look: impl AsyncFn() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("it happens in time")
}

/// Has a launch accepted, with its record in the same commit.
pub(crate) async fn begin(test_engine: &TestEngine, asked: &LaunchRequest) -> BegunLaunch {
    let (resource, tenant) = (LaunchRecord::resource(asked.launch), asked.owner.tenant());
    let sealer = test_engine.engine.sealer(&tenant, &resource);
    let params =
        admit::params(asked.clone(), &sealer).unwrap_or_else(|field_errors| panic!("{field_errors:?}"));
    let record_update = LaunchRecord::accepted(&params).record_update().unwrap();
    let order = Submission::<Launch> {
        name: None,
        tenant: &tenant,
        resource: Some(&resource),
        params: &params,
        by: "test",
        idempotency_key: None,
        queue: false,
        along: RecordWrites {
            subject: Some((Expect::Absent, Some(record_update))),
            ..RecordWrites::default()
        },
    };
    let accepted = test_engine.engine.submit(order).await.unwrap();
    BegunLaunch { launch: asked.launch, id: accepted.id }
}

pub(crate) async fn view(test_engine: &TestEngine, begun: BegunLaunch) -> View {
    let row = test_engine.engine.resource(&LaunchRecord::resource(begun.launch)).await.unwrap().unwrap();
    View::of_row(&row).unwrap()
}

/// Keys that were not used before in this process.
pub(crate) fn new_key() -> KeyChoice {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    KeyChoice { pubkey_id: i64::from(number), name: "anna".into(), line: key_line(number) }
}

fn key_line(number: u32) -> String {
    use base64::Engine as _;
    let mut point = [7; 32];
    point[..4].copy_from_slice(&number.to_be_bytes());
    let name = b"ssh-ed25519";
    let blob = [&[0, 0, 0, 11][..], name, &[0, 0, 0, 32], &point].concat();
    format!("ssh-ed25519 {}", base64::engine::general_purpose::STANDARD.encode(blob))
}

pub(crate) fn owner() -> LaunchOwner {
    LaunchOwner { org: "000013".into(), account: Some("13".into()), user: "anna".into() }
}

pub(crate) fn parameters(amount: u32) -> RequestedParameters {
    RequestedParameters {
        plain: LaunchParameters {
            source_id: "sandbox".into(),
            region: REGION.into(),
            instance_type: Some("t3.micro".into()),
            launch_template_id: None,
            amount,
            name: Some("web".into()),
            key: Some(new_key()),
            poweroff: false,
            subnet: None,
            security_groups: Vec::new(),
            resource_group: None,
        },
        user_data: None,
    }
}

pub(crate) fn build_request() -> Value {
    json!({
        "distribution": "rhel-9",
        "image_name": "web",
        "image_description": "our image",
        "image_requests": [{
            "architecture": "x86_64",
            "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
        }],
    })
}

pub(crate) fn profile() -> Profile {
    ProfileName::Wizard.profile()
}

fn asked(image: RequestedImage, parameters: Option<RequestedParameters>) -> LaunchRequest {
    LaunchRequest {
        launch: Uuid::now_v7(),
        owner: owner(),
        identity: None,
        builder_org: None,
        provider: ProviderKind::Aws,
        image,
        parameters,
        profile: profile(),
    }
}

/// An image of the cloud, launched as often as that.
pub(crate) fn launch_only(amount: u32) -> LaunchRequest {
    asked(RequestedImage::Cloud { id: AMI.into() }, Some(parameters(amount)))
}

/// An image that is built first.
pub(crate) fn build_and_launch(amount: u32) -> LaunchRequest {
    asked(RequestedImage::Build { request: build_request() }, Some(parameters(amount)))
}

/// The same, with parameters that come later.
pub(crate) fn build_and_wait() -> LaunchRequest {
    asked(RequestedImage::Build { request: build_request() }, None)
}

pub(crate) fn nothing() -> LaunchRequest {
    LaunchRequest { provider: ProviderKind::Noop, ..asked(RequestedImage::None, None) }
}
