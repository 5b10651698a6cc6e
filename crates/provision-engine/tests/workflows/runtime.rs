//! The runtime workflows: on trial, with lost answers, with trouble of every kind.

use std::sync::Arc;
use std::time::Duration;

use ::http_client::DriverError;
use ::kubernetes::{Cluster, ObjectKind};
use ::provisioner::{Caller, OperationState};
use ::runtimes::model::{Binding, Instance, UnknownOutcome};
use ::runtimes::workflows::{bind, deprovision, provision, unbind, update};
use engine::store::{Expect, MemoryStore};
use engine::{OperationId, Phase, Resource, WallClock};
use serde_json::{Value, json};
use testing::House;
use testing::trial::{self, Trial};

use crate::runtime_greeting::{deprovision_with_greeting, provision_with_greeting};
use crate::runtime_trial::{Before, RuntimeTrial, instance, read, write};

fn only_the_instance(instance: &str, _runtime: &str) -> Value {
    json!({"instance_id": instance})
}

fn bind_params(instance: &str, runtime: &str) -> Value {
    json!({"instance_id": instance, "binding_id": "b-1", "runtime_id": runtime, "account": "ga-1",
           "subaccount": "sa-1", "expiration_seconds": 600})
}

#[tokio::test]
async fn provisioning_stands_all_trials() {
    trial::stand_all(
        &RuntimeTrial::of(|drivers| provision::plan(drivers), Before::Asked, only_the_instance).await,
    )
    .await;
}

#[tokio::test]
async fn deprovisioning_stands_all_trials() {
    trial::stand_all(
        &RuntimeTrial::of(|drivers| deprovision::plan(drivers), Before::Ready, only_the_instance).await,
    )
    .await;
}

#[tokio::test]
async fn updating_stands_all_trials() {
    let params = |instance: &str, _: &str| {
        json!({"instance_id": instance, "parameters": {
            "name": "n", "region": "westeurope", "autoScalerMax": 7, "kymaVersion": "1.25.0"}})
    };
    trial::stand_all(&RuntimeTrial::of(|drivers| update::plan(drivers), Before::Ready, params).await).await;
}

#[tokio::test]
async fn binding_stands_all_trials() {
    trial::stand_all(&RuntimeTrial::of(|drivers| bind::plan(drivers), Before::ToBind, bind_params).await)
        .await;
}

/// Provisions one instance and answers how that ended.
async fn provisioned(
    trial: &RuntimeTrial<provision::Provision>,
    house: &House,
) -> (OperationId, engine::Inspection) {
    trial.prepare(&house.engine).await;
    let id = house.submit("runtime.provision", trial.resource().as_deref(), trial.params()).await;
    (id, house.finished(id).await)
}

async fn on_trial() -> RuntimeTrial<provision::Provision> {
    RuntimeTrial::of(provision_with_greeting, Before::Asked, only_the_instance).await
}

#[tokio::test]
async fn a_release_without_a_step_finishes_an_operation_that_has_run_it() {
    let trial = on_trial().await;
    trial.world.put("/provisioner/script", &json!({"provision_ms": 600_000})).await;
    let store = Arc::new(MemoryStore::new());
    let open = |plan| {
        let builder = House::plan(Arc::clone(&store) as Arc<_>, Arc::new(WallClock));
        House::open(builder.workflow(plan), None)
    };
    let old = open(provision_with_greeting(&trial.drivers)).await;
    trial.prepare(&old.engine).await;
    let id = old.submit("runtime.provision", trial.resource().as_deref(), trial.params()).await;
    let waiting = old.until(id, |phase| phase == Phase::Waiting).await;
    assert!(waiting.memory.facts.contains_key("hello_world.greeting"), "{:?}", waiting.memory.facts);
    old.close().await;

    trial.world.post("/clock", &json!({"advance_ms": 600_000})).await;
    let new = open(provision::plan(&trial.drivers)).await;
    let ended = new.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(ended.memory.facts["hello_world.greeting"], waiting.memory.facts["hello_world.greeting"]);
    assert_eq!(trial.world.made("runtime").await, 1);
}

#[tokio::test]
async fn a_runtime_comes_with_its_kubeconfig_dashboard_and_overrides() {
    let trial = on_trial().await;
    let house = trial.house().await;
    let (_, ended) = provisioned(&trial, &house).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let record: Instance = read(&house.engine, &trial.resource().unwrap()).await;
    assert!(record.ready && record.kubeconfig.is_some() && record.dashboard_url.is_some());
    assert_eq!(record.cloud_account.as_deref(), Some("shared-azure"));
    let sent = trial.world.get("/provisioner/runtimes").await;
    let text = sent.to_string();
    assert!(text.contains("greeting.text") && text.contains("greeting.token"), "{text}");
    assert!(text.contains("broker_instance_id"), "{text}");
}

#[tokio::test]
async fn a_runtime_lives_on_a_provisioner_of_every_dialect() {
    for dialect in ["2020", "2021", "2022"] {
        let trial = on_trial().await;
        trial.world.put("/provisioner/script", &json!({ "dialect": dialect })).await;
        let builder = House::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
        let builder =
            builder.workflow(provision::plan(&trial.drivers)).workflow(update::plan(&trial.drivers));
        let house = House::open(builder.workflow(deprovision::plan(&trial.drivers)), None).await;
        let (_, ended) = provisioned(&trial, &house).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{dialect} {:?}", ended.memory.last_error);

        let resource = trial.resource().unwrap();
        let params = json!({"instance_id": trial.instance_id(), "parameters": {"autoScalerMax": 7}});
        let id = house.submit("runtime.update", Some(&resource), params).await;
        let ended = house.finished(id).await;
        // The Provisioners of 2020 cannot change a cluster, and the update says so.
        let said = format!("{:?}", ended.memory.last_error);
        let expected = if dialect == "2020" { Phase::Failed } else { Phase::Succeeded };
        assert_eq!(ended.shown.summary.phase, expected, "{dialect} {said}");
        assert_eq!(said.contains("no upgradeShoot"), dialect == "2020", "{said}");

        let params = json!({"instance_id": trial.instance_id()});
        let id = house.submit("runtime.deprovision", Some(&resource), params).await;
        let ended = house.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{dialect} {:?}", ended.memory.last_error);
        assert_eq!(trial.world.standing_of("runtime").await, Vec::<String>::new(), "{dialect}");
    }
}

#[tokio::test]
async fn trouble_of_every_kind_makes_one_runtime() {
    for (fault, least_retries) in [
        (json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}), 1),
        (json!({"system": "provisioner", "kind": "error", "status": 500, "times": 2}), 2),
        (json!({"system": "provisioner", "kind": "garbage", "times": 1}), 1),
        (json!({"system": "provisioner", "kind": "drop_before", "times": 1}), 1),
        (json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime", "times": 3}), 1),
        (json!({"system": "director", "kind": "error", "status": 503, "times": 1}), 1),
    ] {
        let trial = on_trial().await;
        trial.world.fault(&fault).await;
        let house = trial.house().await;
        let (id, ended) = provisioned(&trial, &house).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{fault} {:?}", ended.memory.last_error);
        assert_eq!(trial.world.made("runtime").await, 1, "{fault}");
        let retries = house.kinds(id).await.matches("retried").count();
        assert!(retries >= least_retries, "{fault}: {}", house.kinds(id).await);
    }
}

#[tokio::test]
async fn a_refusal_fails_at_once_and_a_temporary_error_does_not() {
    for (code, phase) in
        [(400, Phase::Failed), (403, Phase::Failed), (500, Phase::Succeeded), (502, Phase::Succeeded)]
    {
        let trial = on_trial().await;
        let failure =
            json!({"match": {}, "operation": "Provision", "times": 1, "kind": "error", "error_code": code});
        trial.world.post("/provisioner/faults", &failure).await;
        let house = trial.house().await;
        let (_, ended) = provisioned(&trial, &house).await;
        assert_eq!(ended.shown.summary.phase, phase, "{code} {:?}", ended.memory.last_error);
        let expect = usize::from(phase == Phase::Succeeded);
        assert_eq!(trial.world.made("runtime").await, expect, "{code}");
    }
}

#[tokio::test]
async fn a_cluster_that_fails_says_why_and_can_be_removed() {
    let trial = on_trial().await;
    let failure = json!({"match": {}, "operation": "Provision", "times": 1, "kind": "operation"});
    trial.world.post("/provisioner/faults", &failure).await;
    let builder = House::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let builder =
        builder.workflow(provision::plan(&trial.drivers)).workflow(deprovision::plan(&trial.drivers));
    let house = House::open(builder, None).await;
    let (_, ended) = provisioned(&trial, &house).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(ended.shown.summary.reason.unwrap().contains("the Provisioner failed"));
    assert_eq!(trial.world.standing_of("runtime").await.len(), 1);
    let id = house.submit("runtime.deprovision", trial.resource().as_deref(), trial.params()).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(trial.world.standing().await.is_empty());
    let record: Instance = read(&house.engine, &trial.resource().unwrap()).await;
    assert!(record.gone_at.is_some() && record.kubeconfig.is_none());
}

#[tokio::test]
async fn a_clean_up_that_cannot_be_done_now_is_done_later_and_keeps_no_cluster_alive() {
    let trial =
        RuntimeTrial::of(|drivers| deprovision::plan(drivers), Before::Ready, only_the_instance).await;
    trial.world.fault(&json!({"system": "greeter", "kind": "error", "status": 422, "times": 3})).await;
    let plan = deprovision_with_greeting(&trial.drivers).retrigger(Duration::from_millis(1), 10);
    let builder = House::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock)).workflow(plan);
    let house = House::open(builder, None).await;
    trial.prepare(&house.engine).await;
    let id = house.submit("runtime.deprovision", trial.resource().as_deref(), trial.params()).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert!(trial.world.standing().await.is_empty());
    let journal = format!("{:?}", house.journal(id).await);
    assert!(journal.contains("hello_world") && journal.contains("skipped"), "{journal}");
    let record: Instance = read(&house.engine, &trial.resource().unwrap()).await;
    assert!(record.gone_at.is_some());
}

#[tokio::test]
async fn without_a_director_an_operator_decides() {
    for (answer, made) in [(json!({"create": true}), 2), (json!({"runtime_id": "?"}), 1)] {
        let mut trial = on_trial().await;
        trial.drivers.director = None;
        trial
            .world
            .fault(&json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}))
            .await;
        let house = trial.house().await;
        trial.prepare(&house.engine).await;
        let id = house.submit("runtime.provision", trial.resource().as_deref(), trial.params()).await;
        let mut waiting = house.inspect(id).await;
        while !waiting.shown.summary.reason.clone().unwrap_or_default().contains("send the signal") {
            assert!(!waiting.shown.summary.phase.is_final(), "{:?}", waiting.memory.last_error);
            tokio::task::yield_now().await;
            waiting = house.inspect(id).await;
        }
        let mut answer = answer;
        if answer["runtime_id"] == "?" {
            answer["runtime_id"] = trial.world.standing_of("runtime").await.remove(0).into();
        }
        house.engine.signal(&format!("create_runtime:{id}:1"), answer).await.unwrap();
        let ended = house.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        assert_eq!(trial.world.made("runtime").await, made);
    }
}

#[tokio::test]
async fn without_a_director_the_policy_may_say_create_again() {
    let mut trial = on_trial().await;
    trial.drivers.director = None;
    let runtimes = Arc::make_mut(&mut trial.drivers.runtimes);
    runtimes.unknown_outcome = UnknownOutcome::CreateAgain;
    trial
        .world
        .fault(&json!({"system": "provisioner", "kind": "drop_after", "about": "provisionRuntime"}))
        .await;
    let house = trial.house().await;
    let (_, ended) = provisioned(&trial, &house).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(trial.world.made("runtime").await, 2, "the policy accepts two");
}

#[tokio::test]
async fn a_suspended_instance_gets_a_new_runtime_and_not_its_old_one() {
    let trial = on_trial().await;
    let builder = House::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let builder =
        builder.workflow(provision::plan(&trial.drivers)).workflow(deprovision::plan(&trial.drivers));
    let house = House::open(builder, None).await;
    provisioned(&trial, &house).await;
    let resource = trial.resource().unwrap();
    let first: Instance = read(&house.engine, &resource).await;
    let params = json!({"instance_id": trial.instance_id(), "temporary": true});
    let id = house.submit("runtime.deprovision", Some(&resource), params).await;
    house.finished(id).await;
    let suspended: Instance = read(&house.engine, &resource).await;
    assert!(suspended.gone_at.is_none() && suspended.runtime_id.is_none());
    let id = house.submit("runtime.provision", Some(&resource), trial.params()).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let second: Instance = read(&house.engine, &resource).await;
    assert!(second.runtime_id.is_some() && second.runtime_id != first.runtime_id);
    assert_eq!(trial.world.standing_of("runtime").await.len(), 1);
}

#[tokio::test]
async fn a_cluster_of_a_region_with_eu_access_is_restricted_to_it() {
    let trial = on_trial().await;
    let house = trial.house().await;
    for (id, region) in [("i-eu", "cf-eu11"), ("i-us", "cf-us10")] {
        let mut record = instance(&house.engine, id, json!({"name": "n", "region": "westeurope"}), json!({}));
        record.platform_region = Some(region.to_owned());
        let resource = Instance::resource(id);
        write(&house.engine, &resource, &record).await;
        let id = house.submit("runtime.provision", Some(&resource), json!({"instance_id": id})).await;
        let ended = house.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    }
    let sent = trial.world.get("/provisioner/runtimes").await.to_string();
    assert_eq!(sent.matches("\"euAccess\":true").count(), 1, "{sent}");
}

#[tokio::test]
async fn an_update_reaches_the_provisioner_and_is_kept() {
    let params = |instance: &str, _: &str| json!({"instance_id": instance, "parameters": {"name": "n", "region": "westeurope", "autoScalerMax": 7}});
    let trial = RuntimeTrial::of(|drivers| update::plan(drivers), Before::Ready, params).await;
    let house = trial.house().await;
    trial.prepare(&house.engine).await;
    let id = house.submit("runtime.update", trial.resource().as_deref(), trial.params()).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let sent = trial.world.get("/provisioner/runtimes").await.to_string();
    assert!(sent.contains("\"autoScalerMax\":7"), "{sent}");
    let resource = trial.resource().unwrap();
    let record: Instance = read(&house.engine, &resource).await;
    let kept = record.parameters(&house.engine.sealer("test", &resource)).unwrap();
    assert_eq!(kept["autoScalerMax"], 7);
}

/// A binding that is there, in an engine that can take it back.
struct Bound {
    trial: RuntimeTrial<bind::Bind>,
    house: House,
    resource: String,
    /// As its user sees the cluster.
    cluster: Arc<dyn Cluster>,
}

impl Bound {
    async fn new() -> Bound {
        Bound::with(|_| {}).await
    }

    async fn with(change: fn(&mut ::runtimes::Clients)) -> Bound {
        let mut trial = RuntimeTrial::of(|drivers| bind::plan(drivers), Before::ToBind, bind_params).await;
        change(&mut trial.drivers);
        let builder = House::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
        let builder = builder.workflow(bind::plan(&trial.drivers)).workflow(unbind::plan(&trial.drivers));
        let house = House::open(builder, None).await;
        trial.prepare(&house.engine).await;
        let resource = trial.resource().unwrap();
        let id = house.submit("runtime.bind", Some(&resource), trial.params()).await;
        let ended = house.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let bound: Binding = read(&house.engine, &resource).await;
        assert!(bound.expires_at.is_some());
        let sealer = house.engine.sealer("test", &resource);
        let kubeconfig = sealer.open(bound.kubeconfig.as_ref().unwrap()).unwrap();
        let cluster = trial.drivers.clusters.open(&kubeconfig).unwrap();
        Bound { trial, house, resource, cluster }
    }

    async fn unbind(&self) -> OperationId {
        let mut params = self.trial.params();
        params.as_object_mut().unwrap().remove("expiration_seconds");
        self.house.submit("runtime.unbind", Some(&self.resource), params).await
    }

    async fn is_closed(&self, unbinding: OperationId) {
        let ended = self.house.finished(unbinding).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let closed: Binding = read(&self.house.engine, &self.resource).await;
        assert!(closed.kubeconfig.is_none() && closed.gone_at.is_some());
    }

    async fn use_it(&self) -> Result<(), DriverError> {
        self.cluster.labelled(ObjectKind::ConfigMap, "default", "a=1").await.map(drop)
    }

    /// Has the Provisioner remove the runtime, and waits until it is gone.
    async fn remove_runtime(&self) {
        let caller = Caller { tenant: "ga-1", sub_account: Some("sa-1") };
        let params = self.trial.params();
        let runtime_id = params["runtime_id"].as_str().unwrap();
        let provisioner = &self.trial.drivers.provisioner;
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
    let bound = Bound::new().await;
    bound.use_it().await.unwrap();
    bound.is_closed(bound.unbind().await).await;
    let refused = bound.use_it().await.unwrap_err().to_string();
    assert!(refused.contains("403 Forbidden"), "{refused}");
}

#[tokio::test]
async fn a_token_has_no_right_any_more_before_its_account_is_deleted() {
    let bound = Bound::new().await;
    let fault = json!({"system": "cluster", "kind": "error", "status": 500, "times": 0, "method": "DELETE",
        "about": "serviceaccounts"});
    bound.trial.world.fault(&fault).await;
    let unbinding = bound.unbind().await;
    for _ in 0..5000 {
        if bound.trial.world.get("/faults").await["faults"][0]["hits"].as_u64() > Some(0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The account stands, so what refuses the token is that its role is gone.
    assert_eq!(bound.trial.world.standing_of("service_account").await.len(), 1);
    let refused = bound.use_it().await.unwrap_err().to_string();
    assert!(refused.contains("403 Forbidden"), "{refused}");
    bound.trial.world.no_faults().await;
    bound.is_closed(unbinding).await;
}

#[tokio::test]
async fn an_unbinding_whose_cluster_is_gone_succeeds() {
    let bound = Bound::new().await;
    bound.remove_runtime().await;
    let gone = bound.use_it().await.unwrap_err();
    assert!(matches!(gone, DriverError::Unreachable { .. }), "{gone}");
    bound.is_closed(bound.unbind().await).await;
}

#[tokio::test]
async fn an_unbinding_whose_instance_has_lost_its_cluster_asks_no_other_system() {
    let bound = Bound::with(|drivers| drivers.director = None).await;
    bound.remove_runtime().await;
    let name = Instance::resource(&bound.trial.instance_id());
    let mut instance: Instance = read(&bound.house.engine, &name).await;
    instance.former_runtimes.extend(instance.runtime_id.take());
    let version = bound.house.engine.resource(&name).await.unwrap().unwrap().version;
    let portrait = Some(instance.portrait().unwrap());
    let written = bound.house.engine.write_resource(&name, "test", Expect::Version(version), portrait).await;
    assert!(written.unwrap());
    bound.is_closed(bound.unbind().await).await;
}

const CANARY: &str = "c4n4ry-7f3e";

#[tokio::test]
async fn no_secret_is_written_down() {
    let trial = on_trial().await;
    let house = trial.house().await;
    let context = json!({"sm_platform_credentials": {"url": format!("https://{CANARY}.example"), "credentials": {
        "basic": {"username": CANARY, "password": CANARY}}}});
    let parameters = json!({"name": CANARY, "region": "westeurope", "administrators": [CANARY]});
    let record = instance(&house.engine, "i-c", parameters, context);
    let resource = Instance::resource("i-c");
    write(&house.engine, &resource, &record).await;
    let id = house.submit("runtime.provision", Some(&resource), json!({"instance_id": "i-c"})).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let row = house.engine.resource(&resource).await.unwrap().unwrap();
    let all = format!("{:?} {:?} {:?} {row:?}", ended.shown, ended.memory, house.journal(id).await);
    assert!(!all.contains(CANARY), "{all}");
    assert!(trial.world.get("/provisioner/runtimes?reveal=true").await.to_string().contains(CANARY));
    let sent = &ended.memory.facts["runtime.overrides"]["overrides"];
    let value =
        |key: &str| sent.as_array().unwrap().iter().find(|one| one["key"] == key).map(|one| &one["value"]);
    assert_eq!(value("sm.user"), Some(&json!("private")), "{sent}");
    assert_eq!(value("sm.password"), Some(&json!("secret")), "{sent}");
}

#[tokio::test]
async fn operations_without_a_record_say_what_to_do() {
    let trial = on_trial().await;
    let house = trial.house().await;
    let id = house.submit("runtime.provision", Some("runtime:x"), json!({"instance_id": "x"})).await;
    let ended = house.finished(id).await;
    assert!(ended.shown.summary.reason.unwrap().contains("through the broker"));
}
