//! A sandbox with all drivers pointed at it, and servers of our own for answers that it does not give.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Router, body};
use drivers::director::HttpDirector;
use drivers::kubernetes::HttpClusters;
use drivers::provisioner::{
    Caller, ClusterConfigInput, ComponentConfigurationInput, ConfigEntryInput, GardenerConfigInput,
    GcpConfigInput, HttpProvisioner, KymaConfigInput, KymaProfile, ProviderSpecificInput,
    ProvisionRuntimeInput, RuntimeInput,
};
use engine::{Clock, Timestamp};
use reqwest::Client;
use sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const CALLER: Caller<'_> = Caller { tenant: "ga-1", sub_account: Some("sa-1") };

pub(crate) struct House {
    pub(crate) sandbox: Sandbox,
    pub(crate) provisioner: HttpProvisioner,
    pub(crate) director: HttpDirector,
    pub(crate) clusters: HttpClusters,
    pub(crate) client: Client,
}

impl House {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let url = sandbox.url();
        let clock = Arc::new(TestClock::default());
        House {
            provisioner: HttpProvisioner::new(&format!("{url}/provisioner/graphql"), TIMEOUT).unwrap(),
            director: HttpDirector::new(&format!("{url}/director/graphql"), None, clock, TIMEOUT).unwrap(),
            clusters: HttpClusters::new(TIMEOUT),
            client: Client::builder().no_proxy().build().unwrap(),
            sandbox,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.sandbox.url());
        self.client.get(url).send().await.unwrap().error_for_status().unwrap().json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) {
        let request = self.client.post(format!("{}{path}", self.sandbox.url())).json(body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) {
        let request = self.client.put(format!("{}{path}", self.sandbox.url())).json(body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    pub(crate) async fn arm(&self, system: &str, mut fault: Value) {
        fault["system"] = json!(system);
        self.post("/faults", &fault).await;
    }
}

#[derive(Default)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }

    fn chance(&self) -> u64 {
        0
    }
}

/// A request as it arrived.
pub(crate) struct Arrival {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A server that writes down what arrives and answers as it is told.
pub(crate) struct FarSide {
    pub(crate) url: String,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl FarSide {
    pub(crate) async fn start(
        answer: impl Fn(&Arrival) -> Response + Clone + Send + Sync + 'static,
    ) -> FarSide {
        let arrivals = Arc::<Mutex<Vec<Arrival>>>::default();
        let seen = Arc::clone(&arrivals);
        let router = Router::new().fallback(move |request: Request| async move {
            let (parts, body) = request.into_parts();
            let path = parts.uri.path_and_query().unwrap().to_string();
            let body = body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
            let arrival = Arrival { path, headers: parts.headers, body };
            let response = answer(&arrival);
            seen.lock().unwrap().push(arrival);
            response
        });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        FarSide { url, arrivals }
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.arrivals.lock().unwrap())
    }
}

pub(crate) fn runtime(instance_id: &str) -> ProvisionRuntimeInput {
    let zones = vec!["europe-west4-a".to_owned()];
    let component = |component: &str, configuration| ComponentConfigurationInput {
        component: component.into(),
        namespace: "kyma-system".into(),
        configuration,
        ..Default::default()
    };
    ProvisionRuntimeInput {
        runtime_input: RuntimeInput {
            name: "n".into(),
            description: Some("with \"quotes\", { braces } and\nlines".into()),
            labels: BTreeMap::from([
                ("broker_instance_id".into(), instance_id.into()),
                ("global_subaccount_id".into(), "sa-1".into()),
            ]),
        },
        cluster_config: ClusterConfigInput {
            gardener_config: gardener(ProviderSpecificInput::Gcp(GcpConfigInput { zones })),
            administrators: Some(vec!["a@example".into()]),
        },
        kyma_config: Some(KymaConfigInput {
            version: "1.13.0".into(),
            profile: Some(KymaProfile::Production),
            components: vec![
                component("compass-runtime-agent", vec![]),
                component("core", vec![ConfigEntryInput::secret("db.password", "hunter2\"\n".into())]),
            ],
            configuration: vec![
                ConfigEntryInput::plain("global.domain", "x.example"),
                ConfigEntryInput::secret("global.key", "hunter3".into()),
            ],
            conflict_strategy: None,
        }),
    }
}

fn gardener(provider_specific_config: ProviderSpecificInput) -> GardenerConfigInput {
    GardenerConfigInput {
        name: Some("c-1234567".into()),
        kubernetes_version: "1.16.9".into(),
        volume_size_gb: Some(30),
        machine_type: "n1-standard-4".into(),
        machine_image: None,
        machine_image_version: None,
        region: "europe-west4".into(),
        provider: "gcp".into(),
        purpose: Some("development".into()),
        licence_type: None,
        seed: None,
        target_secret: "hyperscaler-1".into(),
        disk_type: Some("pd-standard".into()),
        worker_cidr: "10.250.0.0/19".into(),
        pods_cidr: None,
        services_cidr: None,
        auto_scaler_min: 3,
        auto_scaler_max: 4,
        max_surge: 4,
        max_unavailable: 1,
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        provider_specific_config,
        oidc_config: None,
        dns_config: None,
        exposure_class_name: None,
        shoot_networking_filter_disabled: None,
        control_plane_failure_tolerance: None,
        eu_access: Some(true),
    }
}
