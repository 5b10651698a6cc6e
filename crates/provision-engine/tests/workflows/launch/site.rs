//! The sandbox's cloud and its Image Builder, the launches in front of them, and what is left there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::launch::model::admit;
use ::launch::model::cloud::ProviderKind;
use ::launch::model::params::{
    Asked, AskedImage, AskedParameters, KeyChoice, LaunchParameters, Parameters, Requester,
};
use ::launch::model::profile::{Profile, ProfileName};
use ::launch::model::record::LaunchRecord;
use ::launch::model::status::View;
use ::launch::model::{LaunchSettings, Launches};
use ::launch::workflows::launch::Launch;
use ::launch::workflows::notice::{self, Notices};
use ::launch::workflows::termination;
use engine::store::{Expect, MemoryStore, Store};
use engine::{Alongside, EngineBuilder, Inspection, OperationId, Phase, Resource, Submission, WallClock};
use reqwest::Method;
use sandbox::Sandbox;
use serde_json::{Value, json};
use testing::House;
use uuid::Uuid;

pub(crate) struct Site {
    sandbox: Sandbox,
    http: reqwest::Client,
    pub(crate) launches: Arc<Launches>,
    pub(crate) store: Arc<dyn Store>,
}

/// A launch that was accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
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

impl Site {
    pub(crate) async fn start() -> Site {
        Site::with(quick()).await
    }

    pub(crate) async fn with(settings: LaunchSettings) -> Site {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let launches = Launches::beside(&sandbox.url(), Arc::clone(&store), TIMEOUT).unwrap();
        let launches = Arc::new(launches.with_settings(settings));
        let site = Site { sandbox, http: reqwest::Client::new(), launches, store };
        let building = json!({"pending_ms": 5, "building_ms": 20, "uploading_ms": 5, "registering_ms": 5});
        site.put("/image-builder/pace", &building).await;
        site.put("/aws/pace", &json!({"running_ms": 5, "address_ms": 5, "terminate_ms": 5})).await;
        site
    }

    pub(crate) fn url(&self) -> String {
        self.sandbox.url()
    }

    pub(crate) fn builder(&self, store: &Arc<dyn Store>) -> EngineBuilder {
        House::plan(Arc::clone(store), Arc::new(WallClock))
            .workflow(::launch::workflows::launch::plan(&self.launches))
            .workflow(notice::plan(&Notices::none()))
            .workflow(termination::plan(&self.launches))
    }

    pub(crate) async fn house(&self) -> House {
        House::open(self.builder(&self.store), None).await
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

    pub(crate) async fn begin(&self, house: &House, asked: &Asked) -> Begun {
        begin(house, asked).await
    }

    /// Hands parameters in after the request.
    pub(crate) async fn give(&self, house: &House, asked: &Asked, parameters: AskedParameters) {
        let (resource, tenant) = (LaunchRecord::resource(asked.launch), asked.requester.tenant());
        let sealed: Parameters = parameters.sealed(&house.engine.sealer(&tenant, &resource));
        let name = LaunchRecord::parameters_of(asked.launch);
        let portrait = Some(sealed.portrait().unwrap());
        assert!(house.engine.write_resource(&name, &tenant, Expect::Absent, portrait).await.unwrap());
        house.engine.signal(&name, Value::Null).await.unwrap();
    }

    pub(crate) async fn view(&self, house: &House, begun: Begun) -> View {
        view(house, begun).await
    }

    pub(crate) async fn detail(&self, house: &House, begun: Begun) -> View {
        let inspection = house.inspect(begun.id).await;
        self.view(house, begun).await.in_detail(&inspection, &house.journal(begun.id).await)
    }

    /// Waits until the record says what is wanted.
    pub(crate) async fn until(&self, house: &House, begun: Begun, wanted: impl Fn(&View) -> bool) -> View {
        let looking = async {
            loop {
                let view = self.view(house, begun).await;
                if wanted(&view) {
                    return view;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let Ok(view) = tokio::time::timeout(PATIENCE, looking).await else {
            panic!("still {:#?}", self.detail(house, begun).await);
        };
        view
    }

    /// Waits until the launch says that it waits for this.
    pub(crate) async fn until_it_waits_for(&self, house: &House, begun: Begun, what: &str) {
        let is_it = |view: &View| view.waits_for.as_ref().is_some_and(|why| why.contains(what));
        patiently(async || is_it(&self.detail(house, begun).await).then_some(())).await;
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
    pub(crate) async fn rests(&self, house: &House, begun: Begun) -> (Inspection, View) {
        let resting = house.until(begun.id, |phase| phase.is_final() || phase == Phase::Stuck);
        let Ok(inspection) = tokio::time::timeout(PATIENCE, resting).await else {
            panic!("still {:#?}", self.detail(house, begun).await);
        };
        (inspection, self.view(house, begun).await)
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
pub(crate) async fn begin(house: &House, asked: &Asked) -> Begun {
    let (resource, tenant) = (LaunchRecord::resource(asked.launch), asked.requester.tenant());
    let sealer = house.engine.sealer(&tenant, &resource);
    let params = admit::params(asked.clone(), &sealer).unwrap_or_else(|flaws| panic!("{flaws:?}"));
    let portrait = LaunchRecord::accepted(&params).portrait().unwrap();
    let order = Submission::<Launch> {
        tenant: &tenant,
        resource: Some(&resource),
        params: &params,
        by: "test",
        idempotency_key: None,
        queue: false,
        along: Alongside { subject: Some((Expect::Absent, Some(portrait))), ..Alongside::default() },
    };
    let accepted = house.engine.submit(order).await.unwrap();
    Begun { launch: asked.launch, id: accepted.id }
}

pub(crate) async fn view(house: &House, begun: Begun) -> View {
    let row = house.engine.resource(&LaunchRecord::resource(begun.launch)).await.unwrap().unwrap();
    View::of_row(&row).unwrap()
}

/// Keys that nobody has used before in this process.
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

pub(crate) fn requester() -> Requester {
    Requester { org: "000013".into(), account: Some("13".into()), user: "anna".into() }
}

pub(crate) fn parameters(amount: u32) -> AskedParameters {
    AskedParameters {
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

fn asked(image: AskedImage, parameters: Option<AskedParameters>) -> Asked {
    Asked {
        launch: Uuid::now_v7(),
        requester: requester(),
        identity: None,
        builder_org: None,
        provider: ProviderKind::Aws,
        image,
        parameters,
        profile: profile(),
    }
}

/// An image of the cloud, launched as often as that.
pub(crate) fn launch_only(amount: u32) -> Asked {
    asked(AskedImage::Cloud { id: AMI.into() }, Some(parameters(amount)))
}

/// An image that is built first.
pub(crate) fn build_and_launch(amount: u32) -> Asked {
    asked(AskedImage::Build { request: build_request() }, Some(parameters(amount)))
}

/// The same, with parameters that come later.
pub(crate) fn build_and_wait() -> Asked {
    asked(AskedImage::Build { request: build_request() }, None)
}

pub(crate) fn nothing() -> Asked {
    Asked { provider: ProviderKind::Noop, ..asked(AskedImage::None, None) }
}
