//! The runtime workflows: on trial, with lost answers, with trouble of every kind.

use std::sync::Arc;
use std::time::Duration;

use ::http_client::DriverError;
use ::kubernetes::{Cluster, ObjectKind};
use ::provisioner::{OnBehalfOf, OperationState};
use ::runtimes::model::{Binding, InstanceRecord, UnknownOutcome};
use ::runtimes::workflows::{bind, deprovision, provision, unbind, update};
use engine::store::{Expect, MemoryStore};
use engine::{OperationId, Phase, Resource, WallClock};
use serde_json::json;
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};

use crate::runtime_greeting::{deprovision_with_greeting, provision_with_greeting};
use crate::runtime_matrix::{bind_params, only_the_instance};
use crate::runtime_test::{Before, RuntimeTest, instance, read, write};

#[tokio::test]
async fn an_update_of_cluster_and_kyma_passes_all_workflow_tests() {
    let params = |instance: &str, _: &str| {
        json!({"instance_id": instance, "parameters": {
            "name": "n", "region": "westeurope", "autoScalerMax": 7, "kymaVersion": "1.25.0"}})
    };
    workflow_test::check_all(&RuntimeTest::of(|drivers| update::plan(drivers), Before::Ready, params).await)
        .await;
}

/// Provisions one instance and answers how that ended.
async fn provisioned(
    workflow_test: &RuntimeTest<provision::Provision>,
    test_engine: &TestEngine,
) -> (OperationId, engine::Inspection) {
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine
        .submit("runtime.provision", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    (id, test_engine.finished(id).await)
}

async fn under_test() -> RuntimeTest<provision::Provision> {
    RuntimeTest::of(provision_with_greeting, Before::Asked, only_the_instance).await
}

#[tokio::test]
async fn a_release_without_a_step_finishes_an_operation_that_has_run_it() {
    let workflow_test = under_test().await;
    workflow_test.world.put("/provisioner/script", &json!({"provision_ms": 600_000})).await;
    let store = Arc::new(MemoryStore::new());
    let open = |plan| {
        let builder = TestEngine::plan(Arc::clone(&store) as Arc<_>, Arc::new(WallClock));
        TestEngine::open(builder.workflow(plan), None)
    };
    let old = open(provision_with_greeting(&workflow_test.drivers)).await;
    workflow_test.prepare(&old.engine).await;
    let id =
        old.submit("runtime.provision", workflow_test.resource().as_deref(), workflow_test.params()).await;
    let waiting = old.until(id, |phase| phase == Phase::Waiting).await;
    assert!(waiting.memory.facts.contains_key("hello_world.greeting"), "{:?}", waiting.memory.facts);
    old.close().await;

    workflow_test.world.post("/clock", &json!({"advance_ms": 600_000})).await;
    let new = open(provision::plan(&workflow_test.drivers)).await;
    let ended = new.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(ended.memory.facts["hello_world.greeting"], waiting.memory.facts["hello_world.greeting"]);
    assert_eq!(workflow_test.world.made("runtime").await, 1);
}

#[tokio::test]
async fn a_runtime_comes_with_its_kubeconfig_dashboard_and_overrides() {
    let workflow_test = under_test().await;
    let test_engine = workflow_test.test_engine().await;
    let (_, ended) = provisioned(&workflow_test, &test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let record: InstanceRecord = read(&test_engine.engine, &workflow_test.resource().unwrap()).await;
    assert!(record.ready && record.kubeconfig.is_some() && record.dashboard_url.is_some());
    assert_eq!(record.cloud_account.as_deref(), Some("shared-azure"));
    let sent = workflow_test.world.get("/provisioner/runtimes").await;
    let text = sent.to_string();
    assert!(text.contains("greeting.text") && text.contains("greeting.token"), "{text}");
    assert!(text.contains("broker_instance_id"), "{text}");
}

#[tokio::test]
async fn a_runtime_lives_on_a_provisioner_of_every_dialect() {
    for dialect in ["2020", "2021", "2022"] {
        let workflow_test = under_test().await;
        workflow_test.world.put("/provisioner/script", &json!({ "dialect": dialect })).await;
        let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
        let builder = builder
            .workflow(provision::plan(&workflow_test.drivers))
            .workflow(update::plan(&workflow_test.drivers));
        let test_engine =
            TestEngine::open(builder.workflow(deprovision::plan(&workflow_test.drivers)), None).await;
        let (_, ended) = provisioned(&workflow_test, &test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{dialect} {:?}", ended.memory.last_error);

        let resource = workflow_test.resource().unwrap();
        let params = json!({"instance_id": workflow_test.instance_id(), "parameters": {"autoScalerMax": 7}});
        let id = test_engine.submit("runtime.update", Some(&resource), params).await;
        let ended = test_engine.finished(id).await;
        // The Provisioners of 2020 cannot change a cluster, and the update says so.
        let said = format!("{:?}", ended.memory.last_error);
        let expected = if dialect == "2020" { Phase::Failed } else { Phase::Succeeded };
        assert_eq!(ended.shown.summary.phase, expected, "{dialect} {said}");
        assert_eq!(said.contains("no upgradeShoot"), dialect == "2020", "{said}");

        let params = json!({"instance_id": workflow_test.instance_id()});
        let id = test_engine.submit("runtime.deprovision", Some(&resource), params).await;
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{dialect} {:?}", ended.memory.last_error);
        assert_eq!(workflow_test.world.standing_of("runtime").await, Vec::<String>::new(), "{dialect}");
    }
}

#[tokio::test]
async fn failure_of_every_kind_makes_one_runtime() {
    for (fault, least_retries) in [
        (json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}), 1),
        (json!({"system": "provisioner", "kind": "error", "status": 500, "times": 2}), 2),
        (json!({"system": "provisioner", "kind": "garbage", "times": 1}), 1),
        (json!({"system": "provisioner", "kind": "drop_before", "times": 1}), 1),
        (json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime", "times": 3}), 1),
        (json!({"system": "director", "kind": "error", "status": 503, "times": 1}), 1),
    ] {
        let workflow_test = under_test().await;
        workflow_test.world.fault(&fault).await;
        let test_engine = workflow_test.test_engine().await;
        let (id, ended) = provisioned(&workflow_test, &test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{fault} {:?}", ended.memory.last_error);
        assert_eq!(workflow_test.world.made("runtime").await, 1, "{fault}");
        let retries = test_engine.kinds(id).await.matches("retried").count();
        assert!(retries >= least_retries, "{fault}: {}", test_engine.kinds(id).await);
    }
}

#[tokio::test]
async fn an_error_fails_at_once_and_a_temporary_error_does_not() {
    for (code, phase) in
        [(400, Phase::Failed), (403, Phase::Failed), (500, Phase::Succeeded), (502, Phase::Succeeded)]
    {
        let workflow_test = under_test().await;
        let failure =
            json!({"match": {}, "operation": "Provision", "times": 1, "kind": "error", "error_code": code});
        workflow_test.world.post("/provisioner/faults", &failure).await;
        let test_engine = workflow_test.test_engine().await;
        let (_, ended) = provisioned(&workflow_test, &test_engine).await;
        assert_eq!(ended.shown.summary.phase, phase, "{code} {:?}", ended.memory.last_error);
        let expect = usize::from(phase == Phase::Succeeded);
        assert_eq!(workflow_test.world.made("runtime").await, expect, "{code}");
    }
}

#[tokio::test]
async fn a_cluster_that_fails_says_why_and_can_be_removed() {
    let workflow_test = under_test().await;
    let failure = json!({"match": {}, "operation": "Provision", "times": 1, "kind": "operation"});
    workflow_test.world.post("/provisioner/faults", &failure).await;
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let builder = builder
        .workflow(provision::plan(&workflow_test.drivers))
        .workflow(deprovision::plan(&workflow_test.drivers));
    let test_engine = TestEngine::open(builder, None).await;
    let (_, ended) = provisioned(&workflow_test, &test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(ended.shown.summary.reason.unwrap().contains("the Provisioner failed"));
    assert_eq!(workflow_test.world.standing_of("runtime").await.len(), 1);
    let id = test_engine
        .submit("runtime.deprovision", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(workflow_test.world.standing().await.is_empty());
    let record: InstanceRecord = read(&test_engine.engine, &workflow_test.resource().unwrap()).await;
    assert!(record.gone_at.is_some() && record.kubeconfig.is_none());
}

#[tokio::test]
async fn a_clean_up_that_cannot_be_done_now_is_done_later_and_keeps_no_cluster_alive() {
    let workflow_test =
        RuntimeTest::of(|drivers| deprovision::plan(drivers), Before::Ready, only_the_instance).await;
    workflow_test
        .world
        .fault(&json!({"system": "greeter", "kind": "error", "status": 422, "times": 3}))
        .await;
    let plan = deprovision_with_greeting(&workflow_test.drivers).retrigger(Duration::from_millis(1), 10);
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock)).workflow(plan);
    let test_engine = TestEngine::open(builder, None).await;
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine
        .submit("runtime.deprovision", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(workflow_test.world.standing().await.is_empty());
    let journal = format!("{:?}", test_engine.journal(id).await);
    assert!(journal.contains("hello_world") && journal.contains("skipped"), "{journal}");
    let record: InstanceRecord = read(&test_engine.engine, &workflow_test.resource().unwrap()).await;
    assert!(record.gone_at.is_some());
}

#[tokio::test]
async fn without_a_director_an_operator_decides() {
    for (answer, made) in [(json!({"create": true}), 2), (json!({"runtime_id": "?"}), 1)] {
        let mut workflow_test = under_test().await;
        workflow_test.drivers.director = None;
        workflow_test
            .world
            .fault(&json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}))
            .await;
        let test_engine = workflow_test.test_engine().await;
        workflow_test.prepare(&test_engine.engine).await;
        let id = test_engine
            .submit("runtime.provision", workflow_test.resource().as_deref(), workflow_test.params())
            .await;
        let mut waiting = test_engine.inspect(id).await;
        while !waiting.shown.summary.reason.clone().unwrap_or_default().contains("send the signal") {
            assert!(!waiting.shown.summary.phase.is_final(), "{:?}", waiting.memory.last_error);
            tokio::task::yield_now().await;
            waiting = test_engine.inspect(id).await;
        }
        let mut answer = answer;
        if answer["runtime_id"] == "?" {
            answer["runtime_id"] = workflow_test.world.standing_of("runtime").await.remove(0).into();
        }
        test_engine.engine.signal(&format!("create_runtime:{id}:1"), answer).await.unwrap();
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        assert_eq!(workflow_test.world.made("runtime").await, made);
    }
}

#[tokio::test]
async fn without_a_director_the_policy_may_say_create_again() {
    let mut workflow_test = under_test().await;
    workflow_test.drivers.director = None;
    let runtimes = Arc::make_mut(&mut workflow_test.drivers.runtimes);
    runtimes.unknown_outcome = UnknownOutcome::CreateAgain;
    workflow_test
        .world
        .fault(&json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}))
        .await;
    let test_engine = workflow_test.test_engine().await;
    let (_, ended) = provisioned(&workflow_test, &test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(workflow_test.world.made("runtime").await, 2, "the policy accepts two");
}

#[tokio::test]
async fn a_suspended_instance_gets_a_new_runtime_and_not_its_old_one() {
    let workflow_test = under_test().await;
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let builder = builder
        .workflow(provision::plan(&workflow_test.drivers))
        .workflow(deprovision::plan(&workflow_test.drivers));
    let test_engine = TestEngine::open(builder, None).await;
    provisioned(&workflow_test, &test_engine).await;
    let resource = workflow_test.resource().unwrap();
    let first: InstanceRecord = read(&test_engine.engine, &resource).await;
    let params = json!({"instance_id": workflow_test.instance_id(), "temporary": true});
    let id = test_engine.submit("runtime.deprovision", Some(&resource), params).await;
    test_engine.finished(id).await;
    let suspended: InstanceRecord = read(&test_engine.engine, &resource).await;
    assert!(suspended.gone_at.is_none() && suspended.runtime_id.is_none());
    let id = test_engine.submit("runtime.provision", Some(&resource), workflow_test.params()).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let second: InstanceRecord = read(&test_engine.engine, &resource).await;
    assert!(second.runtime_id.is_some() && second.runtime_id != first.runtime_id);
    assert_eq!(workflow_test.world.standing_of("runtime").await.len(), 1);
}

#[tokio::test]
async fn a_cluster_of_a_region_with_eu_access_is_restricted_to_it() {
    let workflow_test = under_test().await;
    let test_engine = workflow_test.test_engine().await;
    for (id, region) in [("i-eu", "cf-eu11"), ("i-us", "cf-us10")] {
        let mut record =
            instance(&test_engine.engine, id, json!({"name": "n", "region": "westeurope"}), json!({}));
        record.platform_region = Some(region.to_owned());
        let resource = InstanceRecord::resource(id);
        write(&test_engine.engine, &resource, &record).await;
        let id = test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": id})).await;
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    }
    let sent = workflow_test.world.get("/provisioner/runtimes").await.to_string();
    assert_eq!(sent.matches("\"euAccess\":true").count(), 1, "{sent}");
}

#[tokio::test]
async fn an_update_reaches_the_provisioner_and_is_kept() {
    let params = |instance: &str, _: &str| json!({"instance_id": instance, "parameters": {"name": "n", "region": "westeurope", "autoScalerMax": 7}});
    let workflow_test = RuntimeTest::of(|drivers| update::plan(drivers), Before::Ready, params).await;
    let test_engine = workflow_test.test_engine().await;
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine
        .submit("runtime.update", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let sent = workflow_test.world.get("/provisioner/runtimes").await.to_string();
    assert!(sent.contains("\"autoScalerMax\":7"), "{sent}");
    let resource = workflow_test.resource().unwrap();
    let record: InstanceRecord = read(&test_engine.engine, &resource).await;
    let kept = record.parameters(&test_engine.engine.sealer("test", &resource)).unwrap();
    assert_eq!(kept["autoScalerMax"], 7);
}

/// A binding that is there, in an engine that can take it back.
struct BoundInstance {
    workflow_test: RuntimeTest<bind::Bind>,
    test_engine: TestEngine,
    resource: String,
    /// As its user sees the cluster.
    cluster: Arc<dyn Cluster>,
}

impl BoundInstance {
    async fn new() -> BoundInstance {
        BoundInstance::with(|_| {}).await
    }

    async fn with(change: fn(&mut ::runtimes::Clients)) -> BoundInstance {
        let mut workflow_test =
            RuntimeTest::of(|drivers| bind::plan(drivers), Before::ToBind, bind_params).await;
        change(&mut workflow_test.drivers);
        let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
        let builder = builder
            .workflow(bind::plan(&workflow_test.drivers))
            .workflow(unbind::plan(&workflow_test.drivers));
        let test_engine = TestEngine::open(builder, None).await;
        workflow_test.prepare(&test_engine.engine).await;
        let resource = workflow_test.resource().unwrap();
        let id = test_engine.submit("runtime.bind", Some(&resource), workflow_test.params()).await;
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let bound: Binding = read(&test_engine.engine, &resource).await;
        assert!(bound.expires_at.is_some());
        let sealer = test_engine.engine.sealer("test", &resource);
        let kubeconfig = sealer.open(bound.kubeconfig.as_ref().unwrap()).unwrap();
        let cluster = workflow_test.drivers.clusters.open(&kubeconfig).unwrap();
        BoundInstance { workflow_test, test_engine, resource, cluster }
    }

    async fn unbind(&self) -> OperationId {
        let mut params = self.workflow_test.params();
        params.as_object_mut().unwrap().remove("expiration_seconds");
        self.test_engine.submit("runtime.unbind", Some(&self.resource), params).await
    }

    async fn is_closed(&self, unbinding: OperationId) {
        let ended = self.test_engine.finished(unbinding).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let closed: Binding = read(&self.test_engine.engine, &self.resource).await;
        assert!(closed.kubeconfig.is_none() && closed.gone_at.is_some());
    }

    async fn use_it(&self) -> Result<(), DriverError> {
        self.cluster.labelled(ObjectKind::ConfigMap, "default", "a=1").await.map(drop)
    }

    /// Has the Provisioner remove the runtime, and waits until it is gone.
    async fn remove_runtime(&self) {
        let caller = OnBehalfOf { tenant: "ga-1", sub_account: Some("sa-1") };
        let params = self.workflow_test.params();
        let runtime_id = params["runtime_id"].as_str().unwrap();
        let provisioner = &self.workflow_test.drivers.provisioner;
        let removal = provisioner.deprovision_runtime(caller, runtime_id).await.unwrap();
        for _ in 0..1000 {
            if provisioner.operation_status(caller, &removal).await.unwrap().state
                == OperationState::Succeeded
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("the runtime is still there");
    }
}

#[tokio::test]
async fn a_binding_works_until_it_is_taken_back() {
    let bound = BoundInstance::new().await;
    bound.use_it().await.unwrap();
    bound.is_closed(bound.unbind().await).await;
    let refused = bound.use_it().await.unwrap_err().to_string();
    assert!(refused.contains("403 Forbidden"), "{refused}");
}

#[tokio::test]
async fn a_token_has_no_right_any_more_before_its_account_is_deleted() {
    let bound = BoundInstance::new().await;
    let fault = json!({"system": "cluster", "kind": "error", "status": 500, "times": 0, "method": "DELETE",
        "about": "serviceaccounts"});
    bound.workflow_test.world.fault(&fault).await;
    let unbinding = bound.unbind().await;
    for _ in 0..5000 {
        if bound.workflow_test.world.get("/faults").await["faults"][0]["hits"].as_u64() > Some(0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The account stands, so what refuses the token is that its role is gone.
    assert_eq!(bound.workflow_test.world.standing_of("service_account").await.len(), 1);
    let refused = bound.use_it().await.unwrap_err().to_string();
    assert!(refused.contains("403 Forbidden"), "{refused}");
    bound.workflow_test.world.no_faults().await;
    bound.is_closed(unbinding).await;
}

#[tokio::test]
async fn an_unbinding_whose_cluster_is_gone_succeeds() {
    let bound = BoundInstance::new().await;
    bound.remove_runtime().await;
    let gone = bound.use_it().await.unwrap_err();
    assert!(matches!(gone, DriverError::Unreachable { .. }), "{gone}");
    bound.is_closed(bound.unbind().await).await;
}

#[tokio::test]
async fn an_unbinding_whose_instance_has_lost_its_cluster_asks_no_other_system() {
    let bound = BoundInstance::with(|drivers| drivers.director = None).await;
    bound.remove_runtime().await;
    let name = InstanceRecord::resource(&bound.workflow_test.instance_id());
    let mut instance: InstanceRecord = read(&bound.test_engine.engine, &name).await;
    instance.former_runtimes.extend(instance.runtime_id.take());
    let version = bound.test_engine.engine.resource(&name).await.unwrap().unwrap().version;
    let record_update = Some(instance.record_update().unwrap());
    let written =
        bound.test_engine.engine.write_resource(&name, "test", Expect::Version(version), record_update).await;
    assert!(written.unwrap());
    bound.is_closed(bound.unbind().await).await;
}

const CANARY: &str = "c4n4ry-7f3e";

#[tokio::test]
async fn no_secret_is_written_down() {
    let workflow_test = under_test().await;
    let test_engine = workflow_test.test_engine().await;
    let context = json!({"sm_platform_credentials": {"url": format!("https://{CANARY}.example"), "credentials": {
        "basic": {"username": CANARY, "password": CANARY}}}});
    let parameters = json!({"name": CANARY, "region": "westeurope", "administrators": [CANARY]});
    let record = instance(&test_engine.engine, "i-c", parameters, context);
    let resource = InstanceRecord::resource("i-c");
    write(&test_engine.engine, &resource, &record).await;
    let id = test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": "i-c"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let row = test_engine.engine.resource(&resource).await.unwrap().unwrap();
    let all = format!("{:?} {:?} {:?} {row:?}", ended.shown, ended.memory, test_engine.journal(id).await);
    assert!(!all.contains(CANARY), "{all}");
    assert!(workflow_test.world.get("/provisioner/runtimes?reveal=true").await.to_string().contains(CANARY));
    let sent = &ended.memory.facts["runtime.overrides"]["overrides"];
    let value =
        |key: &str| sent.as_array().unwrap().iter().find(|one| one["key"] == key).map(|one| &one["value"]);
    assert_eq!(value("sm.user"), Some(&json!("private")), "{sent}");
    assert_eq!(value("sm.password"), Some(&json!("secret")), "{sent}");
}

#[tokio::test]
async fn operations_without_a_record_say_what_to_do() {
    let workflow_test = under_test().await;
    let test_engine = workflow_test.test_engine().await;
    let id = test_engine.submit("runtime.provision", Some("runtime:x"), json!({"instance_id": "x"})).await;
    let ended = test_engine.finished(id).await;
    assert!(ended.shown.summary.reason.unwrap().contains("through the broker"));
}
