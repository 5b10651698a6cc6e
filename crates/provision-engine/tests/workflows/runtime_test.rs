//! The frame in which the runtime workflows are tested: one back end of the sandbox, with the client that production has.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ::provisioner::{
    AzureConfigInput, ClusterConfigInput, ComponentConfigurationInput, GardenerConfigInput, KymaConfigInput,
    OnBehalfOf, ProviderSpecificInput, ProvisionRuntimeInput, RuntimeInput,
};
use ::runtimes::backend::BackendKind;
use ::runtimes::model::{Binding, InstanceRecord, ManagerSettings, seal_json};
use async_trait::async_trait;
use engine::store::{Expect, MemoryStore};
use engine::{Clock, Engine, Plan, Resource, WallClock, Workflow};
use serde_json::{Map, Value, json};
use testing::TestEngine;
use testing::workflow_test::WorkflowTest;

use crate::manager_world::ManagerWorld;
use crate::world::{Drivers, WorkflowFixture};

/// What is there before the operation begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// A record of what was asked for.
    Asked,
    /// And the runtime.
    Ready,
    /// And the record of a binding that was asked for.
    ToBind,
    /// A record whose first runtime is gone.
    Suspended,
}

pub(crate) struct RuntimeTest<W: Workflow> {
    pub(crate) world: WorkflowFixture,
    pub(crate) drivers: Drivers,
    backend: BackendKind,
    plan: fn(&Drivers) -> Plan<W>,
    before: Before,
    /// From the ids of the instance and of its runtime.
    params: fn(&str, &str) -> Value,
    runtime_id: Mutex<String>,
    /// Every run has an instance of its own, as the Provisioner never forgets one.
    number: AtomicU32,
}

impl<W: Workflow> RuntimeTest<W> {
    /// With the Provisioner.
    pub(crate) async fn of(
        plan: fn(&Drivers) -> Plan<W>,
        before: Before,
        params: fn(&str, &str) -> Value,
    ) -> RuntimeTest<W> {
        RuntimeTest::on(BackendKind::Provisioner, plan, before, params).await
    }

    pub(crate) async fn on(
        backend: BackendKind,
        plan: fn(&Drivers) -> Plan<W>,
        before: Before,
        params: fn(&str, &str) -> Value,
    ) -> RuntimeTest<W> {
        let world = WorkflowFixture::start().await;
        let drivers = world.drivers_on(backend).await;
        let (number, runtime_id) = (AtomicU32::new(0), Mutex::default());
        RuntimeTest { world, drivers, backend, plan, before, params, runtime_id, number }
    }

    /// Changes how steps wait for Infrastructure Manager.
    pub(crate) fn settings(&mut self, change: impl FnOnce(&mut ManagerSettings)) {
        change(&mut Arc::make_mut(&mut self.drivers.runtimes).infrastructure_manager);
    }

    /// Infrastructure Manager, as another client sees it.
    pub(crate) fn manager(&self) -> ManagerWorld<'_> {
        ManagerWorld::new(&self.world, self.drivers.runtime_resources.as_deref().unwrap())
    }

    pub(crate) fn instance_id(&self) -> String {
        format!("i-{}", self.number.load(Ordering::SeqCst))
    }

    pub(crate) fn runtime_id(&self) -> String {
        self.runtime_id.lock().unwrap().clone()
    }

    pub(crate) async fn test_engine(&self) -> TestEngine {
        self.test_engine_with((self.plan)(&self.drivers)).await
    }

    /// An engine with another workflow and a store of its own.
    pub(crate) async fn test_engine_with<V: Workflow>(&self, plan: Plan<V>) -> TestEngine {
        let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
        TestEngine::open(builder.workflow(plan), None).await
    }

    /// Runs it once, and answers how that ended.
    pub(crate) async fn run(&self, test_engine: &TestEngine) -> engine::Inspection {
        let id = test_engine.submit(W::KIND, self.resource().as_deref(), self.params()).await;
        test_engine.finished(id).await
    }

    /// A runtime that is ready, with no engine involved.
    async fn ready_runtime(&self, asked: &mut InstanceRecord) {
        let runtime_id = match self.backend {
            BackendKind::Provisioner => runtime(&self.drivers, &asked.instance_id).await,
            BackendKind::InfrastructureManager => {
                let made = self.manager().ready_runtime(asked).await;
                asked.runtime_uid = Some(made.uid);
                made.name
            }
        };
        asked.runtime_id = Some(runtime_id.clone());
        *self.runtime_id.lock().unwrap() = runtime_id;
    }

    /// Whatever happened on the way, no instance ever has a second cluster, and what the back end keeps about it is
    /// what stands.
    async fn one_cluster(&self) {
        let kind = match self.backend {
            BackendKind::Provisioner => "runtime",
            BackendKind::InfrastructureManager => "cluster",
        };
        assert!(self.world.made(kind).await <= 1, "a second cluster was made");
        if self.backend == BackendKind::InfrastructureManager {
            let clusters = self.world.standing_of(kind).await;
            assert_eq!(self.manager().names_of(&self.instance_id()).await, clusters);
        }
    }
}

/// A record as the broker writes it.
pub(crate) fn instance(engine: &Engine, id: &str, parameters: Value, context: Value) -> InstanceRecord {
    let sealer = engine.sealer("test", &InstanceRecord::resource(id));
    let map = |value: Value| -> Map<String, Value> { value.as_object().unwrap().clone() };
    let (service, plan) = ("47c9dcbf-ff30-448e-ab36-d3bad66ba281", "4deee563-e5ec-4731-b9b1-53b42d855f0c");
    let (parameters, context) = (seal_json(&map(parameters), &sealer), seal_json(&map(context), &sealer));
    InstanceRecord {
        plan: "azure".into(),
        provider: "azure".into(),
        region: "westeurope".into(),
        account: "ga-1".into(),
        subaccount: "sa-1".into(),
        ..InstanceRecord::new(id, service, plan, parameters, context)
    }
}

pub(crate) fn binding(engine: &Engine, instance_id: &str) -> Binding {
    let sealer = engine.sealer("test", &Binding::resource(instance_id, "b-1"));
    Binding::new(instance_id, "b-1", "s", "p", seal_json(&Map::new(), &sealer))
}

pub(crate) async fn write(engine: &Engine, name: &str, record: &impl Resource) {
    let record_update = record.record_update().unwrap();
    assert!(engine.write_resource(name, "test", Expect::Absent, Some(record_update)).await.unwrap());
}

pub(crate) async fn read<R: Resource>(engine: &Engine, name: &str) -> R {
    let row = engine.resource(name).await.unwrap().unwrap();
    serde_json::from_str(&row.record).unwrap()
}

/// A runtime that the Provisioner has made, with no engine involved.
pub(crate) async fn runtime(drivers: &Drivers, instance_id: &str) -> String {
    let caller = OnBehalfOf { tenant: "ga-1", sub_account: Some("sa-1") };
    let made = drivers.provisioner.provision_runtime(caller, &smallest(instance_id)).await.unwrap();
    made.runtime_id.unwrap()
}

/// The least that a Provisioner accepts.
fn smallest(instance_id: &str) -> ProvisionRuntimeInput {
    let gardener_config = GardenerConfigInput {
        name: Some("c-1".into()),
        kubernetes_version: "1.21.5".into(),
        volume_size_gb: None,
        machine_type: "Standard_D8_v3".into(),
        machine_image: None,
        machine_image_version: None,
        region: "westeurope".into(),
        provider: "azure".into(),
        purpose: None,
        licence_type: None,
        seed: None,
        target_secret: "shared-azure".into(),
        disk_type: None,
        worker_cidr: "10.250.0.0/19".into(),
        pods_cidr: None,
        services_cidr: None,
        auto_scaler_min: 3,
        auto_scaler_max: 10,
        max_surge: 4,
        max_unavailable: 1,
        enable_kubernetes_version_auto_update: None,
        enable_machine_image_version_auto_update: None,
        provider_specific_config: ProviderSpecificInput::Azure(AzureConfigInput {
            vnet_cidr: "10.250.0.0/19".into(),
            ..AzureConfigInput::default()
        }),
        oidc_config: None,
        dns_config: None,
        exposure_class_name: None,
        shoot_networking_filter_disabled: None,
        control_plane_failure_tolerance: None,
        eu_access: None,
        shoot_and_seed_same_region: None,
    };
    let agent = ComponentConfigurationInput {
        component: "compass-runtime-agent".into(),
        namespace: "compass-system".into(),
        ..ComponentConfigurationInput::default()
    };
    ProvisionRuntimeInput {
        runtime_input: RuntimeInput {
            name: instance_id.into(),
            description: None,
            labels: [("broker_instance_id".to_owned(), instance_id.to_owned())].into(),
        },
        cluster_config: ClusterConfigInput { gardener_config, administrators: None },
        kyma_config: Some(KymaConfigInput {
            version: "1.24.8".into(),
            components: vec![agent],
            ..KymaConfigInput::default()
        }),
    }
}

#[async_trait]
impl<W: Workflow> WorkflowTest for RuntimeTest<W> {
    type Workflow = W;

    fn plan(&self) -> Plan<W> {
        (self.plan)(&self.drivers)
    }

    fn params(&self) -> Value {
        (self.params)(&self.instance_id(), &self.runtime_id.lock().unwrap())
    }

    fn resource(&self) -> Option<String> {
        let id = self.instance_id();
        Some(if self.before == Before::ToBind {
            Binding::resource(&id, "b-1")
        } else {
            InstanceRecord::resource(&id)
        })
    }

    async fn prepare(&self, engine: &Engine) {
        self.number.fetch_add(1, Ordering::SeqCst);
        let id = self.instance_id();
        let mut asked = instance(engine, &id, json!({"name": "n", "region": "westeurope"}), json!({}));
        if self.before != Before::Asked {
            asked.backend = Some(self.backend);
            asked.shoot = format!("c-{id}");
            asked.ready = true;
        }
        match self.before {
            Before::Asked => {}
            Before::Ready | Before::ToBind => self.ready_runtime(&mut asked).await,
            Before::Suspended => {
                asked.former_runtimes = vec!["first".into()];
                asked.suspended = true;
            }
        }
        write(engine, &InstanceRecord::resource(&id), &asked).await;
        if self.before == Before::ToBind {
            write(engine, &Binding::resource(&id, "b-1"), &binding(engine, &id)).await;
        }
    }

    fn attempts(&self) -> Vec<&'static str> {
        match W::KIND {
            "runtime.provision" => vec!["create_runtime.asked"],
            "runtime.deprovision" => vec!["remove_runtime.asked"],
            _ => Vec::new(),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        self.one_cluster().await;
        match self.before {
            // The runtime was there before and stays.
            Before::ToBind => self.world.standing_of("service_account").await,
            _ => self.world.standing().await,
        }
    }

    async fn clear(&self) {
        self.world.clear().await;
    }
}
