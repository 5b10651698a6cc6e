//! The upgrade of one runtime on both back ends: once, whatever is lost.

use ::runtimes::backend::BackendKind;
use ::runtimes::workflows::upgrade::{self, Upgrade};
use async_trait::async_trait;
use engine::{Engine, Phase, Plan};
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};

use crate::manager_world::ManagerWorld;
use crate::runtime_test::{Before, RuntimeTest};
use crate::world::{Drivers, WorkflowFixture};

pub(crate) const MANAGER: BackendKind = BackendKind::InfrastructureManager;

/// The upgrade of one runtime, judged by how often the back end began one.
struct UpgradeTest {
    inner: RuntimeTest<Upgrade>,
    backend: BackendKind,
    attempts: &'static [&'static str],
}

#[async_trait]
impl WorkflowTest for UpgradeTest {
    type Workflow = Upgrade;

    fn plan(&self) -> Plan<Upgrade> {
        self.inner.plan()
    }

    fn params(&self) -> Value {
        self.inner.params()
    }

    fn resource(&self) -> Option<String> {
        self.inner.resource()
    }

    async fn prepare(&self, engine: &Engine) {
        self.inner.prepare(engine).await;
    }

    fn attempts(&self) -> Vec<&'static str> {
        self.attempts.to_vec()
    }

    async fn standing(&self) -> Vec<String> {
        let count =
            upgrades(&self.inner.world, &self.inner.drivers, self.backend, &self.inner.instance_id()).await;
        (0..count).map(|n| format!("upgrade {n}")).collect()
    }

    async fn clear(&self) {
        self.inner.clear().await;
    }
}

/// How often the back end began to upgrade the runtime of an instance.
pub(crate) async fn upgrades(
    world: &WorkflowFixture,
    drivers: &Drivers,
    backend: BackendKind,
    instance_id: &str,
) -> u64 {
    if backend == BackendKind::InfrastructureManager {
        let manager = ManagerWorld::new(world, drivers.runtime_resources.as_deref().unwrap());
        let name = manager.names_of(instance_id).await.remove(0);
        // Each change of the resource that is more than a repetition counts its generation up.
        return u64::try_from(manager.get(&name).await.generation - 1).unwrap();
    }
    let listed = world.get(&format!("/provisioner/runtimes?instance_id={instance_id}")).await;
    listed["runtimes"].as_array().unwrap().iter().map(|one| one["upgrades"].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn upgrading_passes_all_workflow_tests() {
    let params = |instance: &str, _: &str| json!({"instance_id": instance, "kubernetes_version": "1.22.9", "kyma_version": "2.0.0"});
    let inner = RuntimeTest::of(|drivers| upgrade::plan(drivers), Before::Ready, params).await;
    let attempts = &["upgrade_cluster.asked", "upgrade_kyma.asked"];
    workflow_test::check_all(&UpgradeTest { inner, backend: BackendKind::Provisioner, attempts }).await;
}

fn new_versions(instance: &str, _: &str) -> Value {
    json!({"instance_id": instance, "kubernetes_version": "1.31.2", "machine_image": "gardenlinux",
        "machine_image_version": "1592.1.0"})
}

#[tokio::test]
async fn the_version_of_an_image_that_the_resource_does_not_name_is_refused_with_what_to_do() {
    let params =
        |instance: &str, _: &str| json!({"instance_id": instance, "machine_image_version": "1592.1.0"});
    let test = RuntimeTest::on(MANAGER, |drivers| upgrade::plan(drivers), Before::Ready, params).await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    let why = format!("{:?}", ended.memory.last_error);
    assert!(why.contains("machineImageVersion") && why.contains("give machineImage as well"), "{why}");
    assert_eq!(test.manager().get(&test.runtime_id()).await.generation, 1);
}

#[tokio::test]
async fn upgrading_on_infrastructure_manager_passes_all_workflow_tests() {
    let plan = |drivers: &Drivers| upgrade::plan(drivers);
    let inner = RuntimeTest::on(MANAGER, plan, Before::Ready, new_versions).await;
    let attempts = &["upgrade_cluster.asked"];
    workflow_test::check_all(&UpgradeTest { inner, backend: MANAGER, attempts }).await;
}

#[tokio::test]
async fn an_upgrade_on_infrastructure_manager_is_one_patch_whatever_answer_is_lost() {
    let plan = |drivers: &Drivers| upgrade::plan(drivers);
    let test = RuntimeTest::on(MANAGER, plan, Before::Ready, new_versions).await;
    for lost in [None, Some("drop_before"), Some("drop_after")] {
        let test_engine = test.test_engine().await;
        test.prepare(&test_engine.engine).await;
        if let Some(kind) = lost {
            let fault = json!({"system": "infrastructure_manager", "kind": kind, "method": "PATCH"});
            test.world.fault(&fault).await;
        }
        // It changes nothing, and counts the calls.
        let counter = json!({"system": "infrastructure_manager", "kind": "latency", "latency_ms": 0, "times": 0,
            "method": "PATCH"});
        test.world.fault(&counter).await;
        let ended = test.run(&test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{lost:?} {:?}", ended.memory.last_error);
        let faults = test.world.get("/faults").await;
        let counter = faults["faults"].as_array().unwrap().last().unwrap();
        // After a lost answer the call is made again, perhaps twice, as the controller writes the status meanwhile. It
        // changes nothing: that is what the generation says.
        assert!(lost.is_some() || counter["hits"] == 1, "{faults}");
        test.world.no_faults().await;
        let upgraded = test.manager().get(&test.runtime_id()).await;
        assert_eq!(upgraded.generation, 2, "{lost:?}");
        assert_eq!(upgraded.spec["shoot"]["kubernetes"]["version"], "1.31.2");
        let worker = &upgraded.spec["shoot"]["provider"]["workers"][0];
        assert_eq!(worker["machine"]["image"]["version"], "1592.1.0", "{worker}");
        assert_eq!(worker["annotations"]["of"], "another", "{worker}");
        test_engine.close().await;
    }
}
