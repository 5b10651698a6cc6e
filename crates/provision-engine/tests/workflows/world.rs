//! The sandbox with all its external systems, and the drivers that lead there.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use ::greeter::{Greeter, HttpGreeter};
use ::infrastructure_manager::{ApiAccess, DEFAULT_NAMESPACE, HttpRuntimeResources};
use ::opennebula::OpenNebulaOptions;
use ::runtimes::Clients;
use ::runtimes::backend::BackendKind;
use ::runtimes::model::{KymaTemplate, ManagerSettings, RuntimesSettings};
use ::serverless::model::{Serverless, ServerlessSettings};
use engine::secret::{ExposeSecret, SecretString};
use engine::store::{MemoryStore, Store};
use sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) struct WorkflowFixture {
    sandbox: Sandbox,
    http: reqwest::Client,
}

/// What the steps of the products use.
pub(crate) struct Drivers {
    pub(crate) clients: Clients,
    pub(crate) greeter: Arc<dyn Greeter>,
    pub(crate) serverless: Arc<Serverless>,
}

impl Drivers {
    /// All external systems are at one address, as the sandbox has them.
    pub(crate) fn at(
        url: &str,
        timeout: Duration,
        runtimes: RuntimesSettings,
        store: Arc<dyn Store>,
    ) -> Drivers {
        let nebula = OpenNebulaOptions { timeout, ..OpenNebulaOptions::beside(url) };
        Drivers {
            clients: Clients::at(url, timeout, runtimes, store).unwrap(),
            greeter: Arc::new(HttpGreeter::new(url, timeout).unwrap()),
            serverless: Arc::new(Serverless::new(&nebula, ServerlessSettings::default()).unwrap()),
        }
    }
}

impl Deref for Drivers {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.clients
    }
}

impl DerefMut for Drivers {
    fn deref_mut(&mut self) -> &mut Clients {
        &mut self.clients
    }
}

const TIMEOUT: Duration = Duration::from_secs(5);

impl WorkflowFixture {
    pub(crate) async fn start() -> WorkflowFixture {
        let sandbox = Sandbox::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        WorkflowFixture { sandbox, http: reqwest::Client::new() }
    }

    pub(crate) fn url(&self) -> String {
        self.sandbox.url()
    }

    /// The drivers as production has them. Accounts are kept in a store of their own unless one is given.
    pub(crate) fn drivers(&self, store: Option<Arc<dyn Store>>) -> Drivers {
        let url = self.sandbox.url();
        let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let runtimes = RuntimesSettings {
            poll_max: Duration::from_millis(20),
            settle: Duration::from_millis(50),
            ..RuntimesSettings::default()
        };
        Drivers::at(&url, TIMEOUT, runtimes, store)
    }

    /// The same, with all plans on one back end.
    pub(crate) async fn drivers_on(&self, backend: BackendKind) -> Drivers {
        let mut drivers = self.drivers(None);
        if backend == BackendKind::InfrastructureManager {
            drivers.runtime_resources = Some(Arc::new(self.runtime_resources("admin").await));
            // Long enough for steps to wait, and so to end one pass and begin another.
            let delays = json!({"create_ms": 10, "update_ms": 10, "delete_ms": 10, "kyma_ms": 10});
            self.put("/infrastructure-manager/delays", &delays).await;
            let (poll, grace) = (Duration::from_millis(20), Duration::from_millis(100));
            let spec = json!({"channel": "regular", "modules": [{"name": "istio"}]});
            let kyma = KymaTemplate { labels: [].into(), annotations: [].into(), spec };
            let settings = ManagerSettings { poll, grace, kyma: Some(kyma), ..ManagerSettings::default() };
            let runtimes = Arc::make_mut(&mut drivers.runtimes);
            runtimes.infrastructure_manager = settings;
            runtimes.catalog = Arc::new((*runtimes.catalog).clone().with_backends(|_| backend));
        }
        drivers
    }

    /// One call to the API server of Infrastructure Manager, with all rights.
    pub(crate) async fn as_manager_admin(&self, method: &str, path: &str) -> Value {
        let url = format!("{}/infrastructure-manager/kubeconfig", self.sandbox.url());
        let kubeconfig = self.http.get(url).send().await.unwrap().text().await.unwrap();
        let token = kubeconfig.split("token: \"").nth(1).unwrap().trim().trim_end_matches('"');
        let url = format!("{}{path}", self.sandbox.url());
        let call = self.http.request(method.parse().unwrap(), url).bearer_auth(token);
        call.send().await.unwrap().json().await.unwrap()
    }

    /// The client of Infrastructure Manager, with the rights of this user.
    pub(crate) async fn runtime_resources(&self, user: &str) -> HttpRuntimeResources {
        let url = format!("{}/infrastructure-manager/kubeconfig?user={user}", self.sandbox.url());
        let answer = self.http.get(url).send().await.unwrap().error_for_status().unwrap();
        let access = ApiAccess::Kubeconfig(answer.text().await.unwrap().into());
        HttpRuntimeResources::new(&access, DEFAULT_NAMESPACE, TIMEOUT).unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.sandbox.url())).send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) {
        let answer = self.http.post(format!("{}{path}", self.sandbox.url())).json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) {
        let request = reqwest::Client::new().put(format!("{}{path}", self.sandbox.url())).json(body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    pub(crate) async fn fault(&self, fault: &Value) {
        self.post("/faults", fault).await;
    }

    pub(crate) async fn no_faults(&self) {
        let url = format!("{}/faults", self.sandbox.url());
        self.http.delete(url).send().await.unwrap().error_for_status().unwrap();
    }

    /// The kubeconfig of the cluster that is always there.
    pub(crate) async fn control_plane(&self) -> SecretString {
        let url = format!("{}/clusters/control-plane/kubeconfig", self.sandbox.url());
        self.http.get(url).send().await.unwrap().text().await.unwrap().into()
    }

    /// Makes an object in that cluster.
    pub(crate) async fn make_object(&self, namespace: &str, plural: &str, object: &Value) {
        let admin = self.control_plane().await;
        let token =
            admin.expose_secret().split("token: \"").nth(1).unwrap().trim().trim_end_matches('"').to_owned();
        let url =
            format!("{}/clusters/control-plane/api/v1/namespaces/{namespace}/{plural}", self.sandbox.url());
        let answer = self.http.post(url).bearer_auth(token).json(object).send().await.unwrap();
        assert_eq!(answer.status(), 201);
    }

    /// Tokens of everything that stands in the world now.
    pub(crate) async fn standing(&self) -> Vec<String> {
        let ledger = self.get("/ledger").await;
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().map(|effect| effect["token"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn standing_of(&self, kind: &str) -> Vec<String> {
        let ledger = self.get("/ledger").await;
        let effects = ledger["effects"].as_array().unwrap().iter().filter(|effect| effect["kind"] == kind);
        effects.map(|effect| effect["token"].as_str().unwrap().to_owned()).collect()
    }

    /// How many things of a kind were ever made.
    pub(crate) async fn made(&self, kind: &str) -> usize {
        let ledger = self.get("/ledger?all=true").await;
        let effects = ledger["effects"].as_array().unwrap();
        effects.iter().filter(|effect| effect["kind"] == kind).count()
    }

    pub(crate) async fn clear(&self) {
        let url = format!("{}/ledger", self.sandbox.url());
        self.http.delete(url).send().await.unwrap().error_for_status().unwrap();
    }
}
