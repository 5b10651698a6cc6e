//! Infrastructure Manager: exchanges with a real API server as vectors, and runtimes from their first day to the last.

mod accounts;
mod faults;
mod lifecycle;
mod vectors;
mod verdicts;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::infrastructure_manager::{
    ApiAccess, ControlPlaneSpec, Creation, DEFAULT_NAMESPACE, HttpRuntimeResources, INSTANCE_ID,
    NetworkingSpec, ObservedRuntime, ProviderSpec, RUNTIME_ID, RuntimeFeed, RuntimeResource,
    RuntimeResources, RuntimeSpec, SecuritySpec, ShootKubernetes, ShootSpec, WorkerMachine, WorkerPool,
    WriteMode,
};
use client_tests::{TIMEOUT, TestSandbox};
use engine::secret::SecretString;
use serde_json::json;

const NAME: &str = "0a1b2c3d-1111-4222-8333-000000000001";

async fn access(fixture: &TestSandbox, user: &str) -> ApiAccess {
    let url = fixture.url(&format!("/infrastructure-manager/kubeconfig?user={user}"));
    let answer = fixture.client.get(url).send().await.unwrap().error_for_status().unwrap();
    ApiAccess::Kubeconfig(answer.text().await.unwrap().into())
}

async fn resources(fixture: &TestSandbox, user: &str) -> HttpRuntimeResources {
    HttpRuntimeResources::new(&access(fixture, user).await, DEFAULT_NAMESPACE, TIMEOUT).unwrap()
}

/// Resources of a server at this URL, which gives up soon.
fn resources_at(url: &str, timeout: Duration) -> HttpRuntimeResources {
    let file = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": {"token": "t-1"}}],
    });
    let access = ApiAccess::Kubeconfig(SecretString::from(file.to_string()));
    HttpRuntimeResources::new(&access, DEFAULT_NAMESPACE, timeout).unwrap()
}

fn spec() -> RuntimeSpec {
    let worker = WorkerPool {
        name: "cpu-worker-0".into(),
        machine: WorkerMachine { kind: "m6i.large".into(), image: None },
        minimum: 3,
        maximum: 20,
        max_surge: None,
        max_unavailable: None,
        zones: vec!["eu-central-1a".into()],
        volume: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        cri: None,
        kubernetes: None,
    };
    RuntimeSpec {
        shoot: ShootSpec {
            name: "c-1a2b3c4".into(),
            purpose: "production".into(),
            platform_region: "cf-eu10".into(),
            region: "eu-central-1".into(),
            secret_binding_name: "aws-1".into(),
            licence_type: None,
            enforce_seed_location: None,
            enable_nvidia_openshell: Some(false),
            kubernetes: ShootKubernetes { version: Some("1.33.1".into()), kube_api_server: None },
            provider: ProviderSpec {
                kind: "aws".into(),
                workers: vec![worker],
                additional_workers: Some(Vec::new()),
            },
            networking: NetworkingSpec {
                kind: Some("calico".into()),
                nodes: "10.250.0.0/16".into(),
                pods: "10.96.0.0/13".into(),
                services: "10.104.0.0/13".into(),
                dual_stack: Some(true),
            },
            control_plane: Some(ControlPlaneSpec::tolerating("zone")),
        },
        security: SecuritySpec::new(vec!["admin@example.com".into()], true, Some(false)),
        audit_log_access_enabled: None,
    }
}

fn runtime(name: &str) -> RuntimeResource {
    let labels = [
        (INSTANCE_ID, format!("instance-{name}")),
        (RUNTIME_ID, name.to_owned()),
        ("kyma-project.io/region", "eu-central-1".to_owned()),
        ("operator.kyma-project.io/kyma-name", name.to_owned()),
        ("kyma-project.io/broker-plan-id", "plan".to_owned()),
        ("kyma-project.io/broker-plan-name", "aws".to_owned()),
        ("kyma-project.io/global-account-id", "account".to_owned()),
        ("kyma-project.io/subaccount-id", "subaccount".to_owned()),
    ];
    let labels = labels.map(|(name, value)| (name.to_owned(), value)).into();
    let mut spec = spec();
    spec.shoot.name = format!("s-{}", &name[name.len() - 7..]);
    RuntimeResource { name: name.to_owned(), labels, spec: spec.to_json() }
}

async fn create(resources: &HttpRuntimeResources, name: &str) -> ObservedRuntime {
    match resources.create(&runtime(name), WriteMode::Apply).await.unwrap() {
        Creation::Created(created) => created,
        other => panic!("{other:?}"),
    }
}

/// A runtime that is Ready.
async fn provision(resources: &HttpRuntimeResources, name: &str) -> ObservedRuntime {
    create(resources, name).await;
    let found = resources.get(name).await.unwrap().unwrap();
    assert_eq!(::infrastructure_manager::classify(&found), ::infrastructure_manager::Readiness::Ready);
    found
}

async fn arm(fixture: &TestSandbox, fault: serde_json::Value) {
    fixture.post("/infrastructure-manager/faults", &fault).await;
}

async fn standing(fixture: &TestSandbox, kind: &str) -> (u64, u64) {
    let summary = fixture.get("/ledger/summary").await;
    let line = &summary[format!("infrastructure_manager/{kind}")];
    (line["made"].as_u64().unwrap_or(0), line["standing"].as_u64().unwrap_or(0))
}

fn shared(resources: HttpRuntimeResources) -> Arc<dyn RuntimeFeed> {
    Arc::new(resources)
}
