//! Infrastructure Manager of the sandbox as a test sees it: its objects, its faults, and runtimes that are there before.

use ::infrastructure_manager::{
    Creation, KymaResource, KymaState, ObservedRuntime, Patch, PatchedRuntime, RuntimeResource,
    RuntimeResources, RuntimeState, WriteMode,
};
use ::runtimes::model::InstanceRecord;
use serde_json::{Value, json};

use crate::world::WorkflowFixture;

pub(crate) struct ManagerWorld<'a> {
    world: &'a WorkflowFixture,
    pub(crate) resources: &'a dyn RuntimeResources,
}

impl<'a> ManagerWorld<'a> {
    pub(crate) fn new(world: &'a WorkflowFixture, resources: &'a dyn RuntimeResources) -> ManagerWorld<'a> {
        ManagerWorld { world, resources }
    }

    pub(crate) async fn fault(&self, fault: &Value) {
        self.world.post("/infrastructure-manager/faults", fault).await;
    }

    pub(crate) async fn delays(&self, delays: &Value) {
        self.world.put("/infrastructure-manager/delays", delays).await;
    }

    /// Lets this time pass for the controllers.
    pub(crate) async fn advance(&self, milliseconds: u64) {
        self.world.post("/clock", &json!({"advance_ms": milliseconds})).await;
    }

    pub(crate) async fn get(&self, name: &str) -> ObservedRuntime {
        self.resources.get(name).await.unwrap().unwrap()
    }

    /// The runtimes of an instance, by name.
    pub(crate) async fn names_of(&self, instance_id: &str) -> Vec<String> {
        let selector = format!("kyma-project.io/instance-id={instance_id}");
        let found = self.resources.list(Some(&selector), None).await.unwrap();
        found.items.into_iter().map(|runtime| runtime.name).collect()
    }

    /// As another client changes it, once that change is made.
    pub(crate) async fn write(&self, name: &str, spec: Value) {
        let patch = Patch { spec, ..Patch::default() };
        let patched = self.resources.patch(name, &patch, WriteMode::Apply).await.unwrap();
        assert!(matches!(patched, PatchedRuntime::Patched(_)), "{patched:?}");
        self.until_ready(name).await;
    }

    /// With a Kyma resource beside it, and an annotation of another client on its workers.
    pub(crate) async fn ready_runtime(&self, instance: &InstanceRecord) -> ObservedRuntime {
        let resource = resource(instance);
        let made = self.resources.create(&resource, WriteMode::Apply).await.unwrap();
        let Creation::Created(made) = made else { panic!("{made:?}") };
        let RuntimeResource { name, labels, .. } = resource;
        let spec = json!({"channel": "regular"});
        let kyma = KymaResource { name, labels, annotations: [].into(), spec };
        self.resources.apply_kyma(&kyma).await.unwrap();
        self.until_ready(&made.name).await;
        made
    }

    /// The labels of an object beside a runtime, if it is there.
    pub(crate) async fn labels_of(&self, plural: &str, name: &str) -> Option<Value> {
        let found = self.call("GET", plural, name).await;
        (found["kind"] != "Status").then(|| found["metadata"]["labels"].clone())
    }

    /// Deletes the Kyma resource and the `GardenerCluster`, as an operator could.
    pub(crate) async fn remove_companions(&self, name: &str) {
        for plural in ["kymas", "gardenerclusters"] {
            self.call("DELETE", plural, name).await;
        }
        self.advance(1000).await;
    }

    async fn call(&self, method: &str, plural: &str, name: &str) -> Value {
        let group = match plural {
            "kymas" => "operator.kyma-project.io/v1beta2",
            _ => "infrastructuremanager.kyma-project.io/v1",
        };
        let path = format!("/infrastructure-manager/apis/{group}/namespaces/kcp-system/{plural}/{name}");
        self.world.as_manager_admin(method, &path).await
    }

    /// Lets the work on the runtime, and on its Kyma resource if it has one, come to its end.
    async fn until_ready(&self, name: &str) {
        for _ in 0..10 {
            let kyma = self.resources.kyma(name).await.unwrap();
            let is_kyma_ready = kyma.is_none_or(|kyma| kyma.state == Some(KymaState::Ready));
            if is_kyma_ready && self.get(name).await.state == Some(RuntimeState::Ready) {
                return;
            }
            self.advance(1000).await;
        }
        panic!("{name} is not ready");
    }
}

/// The least that Infrastructure Manager accepts.
fn resource(instance: &InstanceRecord) -> RuntimeResource {
    let name = format!("runtime-of-{}", instance.instance_id);
    let own = |label: &str, value: &str| (format!("kyma-project.io/{label}"), value.to_owned());
    let labels = [
        own("instance-id", &instance.instance_id),
        own("runtime-id", &name),
        own("region", &instance.region),
        own("broker-plan-id", &instance.plan_id),
        own("broker-plan-name", &instance.plan),
        own("global-account-id", &instance.account),
        own("subaccount-id", &instance.subaccount),
        ("operator.kyma-project.io/kyma-name".to_owned(), name.clone()),
    ];
    let worker = json!({"name": "cpu-worker-0", "machine": {"type": "Standard_D8_v3"}, "minimum": 2, "maximum": 3,
        "annotations": {"of": "another"}});
    let spec = json!({
        "shoot": {
            "name": instance.shoot, "region": instance.region, "platformRegion": "cf-eu10", "purpose": "production",
            "secretBindingName": "azure-shared", "kubernetes": {"version": "1.30.1"},
            "provider": {"type": "azure", "workers": [worker]},
            "networking": {"nodes": "10.250.0.0/16", "pods": "10.96.0.0/13", "services": "10.104.0.0/13"},
        },
        "security": {"administrators": [], "networking": {"filter": {"egress": {"enabled": true}}}},
    });
    RuntimeResource { name, labels: labels.into(), spec }
}
