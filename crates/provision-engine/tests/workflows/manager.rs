//! The runtime workflows with the back end Infrastructure Manager.

use std::sync::Arc;
use std::time::Duration;

use ::infrastructure_manager::{GLOBAL_ACCOUNT_ID, RuntimeState};
use ::runtimes::backend::BackendKind;
use ::runtimes::model::records::Records;
use ::runtimes::model::{Binding, InstanceRecord};
use ::runtimes::workflows::{bind, deprovision, provision, unbind, update};
use engine::store::{MemoryStore, Store};
use engine::{Phase, WallClock};
use serde_json::json;
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};

use crate::runtime_matrix::{bind_params, more_machines, only_the_instance, suspension};
use crate::runtime_test::{Before, RuntimeTest, binding, instance, read, write};

const MANAGER: BackendKind = BackendKind::InfrastructureManager;

async fn provisioning() -> RuntimeTest<provision::Provision> {
    RuntimeTest::on(MANAGER, |drivers| provision::plan(drivers), Before::Asked, only_the_instance).await
}

fn reason(ended: &engine::Inspection) -> String {
    format!("{:?} {:?}", ended.shown.summary.reason, ended.memory.last_error)
}

#[tokio::test]
async fn a_runtime_has_its_id_before_the_call_and_no_kubeconfig_is_kept() {
    let test = provisioning().await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    let record: InstanceRecord = read(&test_engine.engine, &test.resource().unwrap()).await;
    let id = record.runtime_id.clone().unwrap();
    assert_eq!(test.world.standing_of("cluster").await, std::slice::from_ref(&id));
    let object = test.manager().get(&id).await;
    assert_eq!(record.runtime_uid.as_ref(), Some(&object.uid));
    assert_eq!(record.backend, Some(BackendKind::InfrastructureManager));
    assert!(record.ready && record.kubeconfig.is_none());
    let labels = &object.labels;
    for label in [
        "instance-id",
        "runtime-id",
        "broker-plan-id",
        "broker-plan-name",
        "global-account-id",
        "subaccount-id",
        "shoot-name",
        "region",
        "provider",
    ] {
        assert!(
            labels.get(&format!("kyma-project.io/{label}")).is_some_and(|text| !text.is_empty()),
            "{label}"
        );
    }
    assert_eq!(labels["operator.kyma-project.io/kyma-name"], id);
    let shoot = &object.spec["shoot"];
    assert_eq!((&shoot["name"], &shoot["provider"]["type"]), (&json!(record.shoot), &json!("azure")));
    assert_eq!(shoot["secretBindingName"], "shared-azure");
    let digits = record.shoot.trim_start_matches("c-");
    assert!(digits.len() == 7 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{}", record.shoot);
}

#[tokio::test]
async fn a_terminal_reason_fails_at_once_with_the_words_of_the_shoot() {
    let test = provisioning().await;
    let fault = json!({"kind": "failed", "reason": "ConversionErr", "message": "quota is used up", "codes": ["ERR_X"]});
    test.manager().fault(&fault).await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    let reason = reason(&ended);
    assert!(reason.contains("ConversionErr") && reason.contains("quota is used up"), "{reason}");
}

#[tokio::test]
async fn a_creation_that_takes_too_long_says_what_it_waits_for() {
    let mut test = provisioning().await;
    test.settings(|settings| settings.create_limit = Duration::from_millis(50));
    test.manager().delays(&json!({"take_up_ms": 600_000})).await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(reason(&ended).contains("has not looked at it yet"), "{}", reason(&ended));
}

#[tokio::test]
async fn the_resource_of_another_instance_is_never_taken_over() {
    let test = provisioning().await;
    let test_engine = test.test_engine().await;
    let resource = InstanceRecord::resource("i-x");
    let mut record =
        instance(&test_engine.engine, "i-x", json!({"name": "n", "region": "westeurope"}), json!({}));
    record.backend = Some(BackendKind::InfrastructureManager);
    let other = instance(&test_engine.engine, "other", json!({}), json!({}));
    let taken = test.manager().ready_runtime(&other).await;
    record.runtime_id = Some(taken.name);
    write(&test_engine.engine, &resource, &record).await;
    let id = test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": "i-x"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(reason(&ended).contains("of another instance"), "{}", reason(&ended));
}

#[tokio::test]
async fn fields_that_an_older_installation_lacks_are_left_out_and_named() {
    let test = provisioning().await;
    test.manager().fault(&json!({"kind": "older_definition", "times": 0})).await;
    let test_engine = test.test_engine().await;
    let resource = InstanceRecord::resource("i-x");
    let networking = json!({"nodes": "10.250.0.0/16", "dualStack": true});
    let parameters = json!({"name": "n", "region": "westeurope", "networking": networking});
    write(&test_engine.engine, &resource, &instance(&test_engine.engine, "i-x", parameters, json!({}))).await;
    let id = test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": "i-x"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    let named = ended.memory.facts["create_runtime.unknown_components"].to_string();
    assert!(named.contains("spec.shoot.networking.dualStack"), "{named}");
    let record: InstanceRecord = read(&test_engine.engine, &resource).await;
    let object = test.manager().get(&record.runtime_id.unwrap()).await;
    let networking = &object.spec["shoot"]["networking"];
    assert!(networking["nodes"].is_string() && networking.get("dualStack").is_none(), "{networking}");
}

async fn updating() -> RuntimeTest<update::Update> {
    RuntimeTest::on(MANAGER, |drivers| update::plan(drivers), Before::Ready, more_machines).await
}

#[tokio::test]
async fn an_update_without_the_right_to_patch_passes_all_workflow_tests() {
    let mut test = updating().await;
    test.drivers.runtime_resources = Some(Arc::new(test.world.runtime_resources("keb").await));
    workflow_test::check_all(&test).await;
}

#[tokio::test]
async fn a_ready_from_before_an_update_does_not_end_it() {
    let mut test = updating().await;
    test.settings(|settings| settings.grace = Duration::from_mins(10));
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    test.manager().fault(&json!({"kind": "stale_ready", "lasts_ms": 600_000})).await;
    let id = test_engine.submit("runtime.update", test.resource().as_deref(), test.params()).await;
    // It has looked, and what it saw was Ready.
    let waiting = test_engine.until(id, |phase| phase == Phase::Waiting || phase.is_final()).await;
    assert_eq!(waiting.shown.summary.phase, Phase::Waiting);
    assert_eq!(test.manager().get(&test.runtime_id()).await.state, Some(RuntimeState::Ready));
    test.manager().advance(600_000).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    let saved = ended.memory.facts["upgrade_shoot.asked"].to_string();
    assert!(saved.contains("was_taken_up\":true"), "{saved}");
}

#[tokio::test]
async fn an_update_writes_over_no_other_writer() {
    let test = updating().await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    test.manager().fault(&json!({"kind": "other_writer", "times": 2})).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    let object = test.manager().get(&test.runtime_id()).await;
    let worker = &object.spec["shoot"]["provider"]["workers"][0];
    assert_eq!((&worker["maximum"], &worker["annotations"]["of"]), (&json!(7), &json!("another")));
    assert!(object.annotations.contains_key("example.com/other-writer"), "{:?}", object.annotations);
}

#[tokio::test]
async fn an_update_that_changes_nothing_waits_for_nothing() {
    let mut test = updating().await;
    test.settings(|settings| {
        settings.grace = Duration::from_mins(10);
        settings.update_limit = Duration::from_secs(1);
    });
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    // Another client has made the same change: the patch is empty, and its generation the one before.
    let mut worker =
        test.manager().get(&test.runtime_id()).await.spec["shoot"]["provider"]["workers"][0].clone();
    worker["maximum"] = json!(7);
    let spec = json!({"shoot": {"provider": {"workers": [worker]}}});
    test.manager().write(&test.runtime_id(), spec).await;
    test.manager().delays(&json!({"take_up_ms": 600_000})).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
}

#[tokio::test]
async fn a_failed_update_says_why() {
    let test = updating().await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    test.manager().fault(&json!({"kind": "failed", "reason": "ProcessingErr"})).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(reason(&ended).contains("ProcessingErr"), "{}", reason(&ended));
}

#[tokio::test]
async fn parameters_without_a_place_are_refused_by_name() {
    let params = |instance: &str, _: &str| json!({"instance_id": instance, "parameters": {"name": "n", "region": "westeurope", "kymaVersion": "2.0.0"}});
    let test = RuntimeTest::on(MANAGER, |drivers| update::plan(drivers), Before::Ready, params).await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    assert!(reason(&ended).contains("parameters.kymaVersion"), "{}", reason(&ended));
}

async fn life() -> (RuntimeTest<provision::Provision>, TestEngine) {
    let mut test = provisioning().await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    test.drivers.records = Records::new(Arc::clone(&store));
    let builder = TestEngine::plan(store, Arc::new(WallClock));
    let builder = builder
        .workflow(provision::plan(&test.drivers))
        .workflow(deprovision::plan(&test.drivers))
        .workflow(bind::plan(&test.drivers))
        .workflow(unbind::plan(&test.drivers));
    let test_engine = TestEngine::open(builder, None).await;
    test.prepare(&test_engine.engine).await;
    (test, test_engine)
}

#[tokio::test]
async fn a_suspended_instance_comes_back_with_a_new_id_and_its_old_shoot() {
    let (test, test_engine) = life().await;
    assert_eq!(test.run(&test_engine).await.shown.summary.phase, Phase::Succeeded);
    let resource = test.resource().unwrap();
    let first: InstanceRecord = read(&test_engine.engine, &resource).await;
    let params = suspension(&test.instance_id(), "");
    let id = test_engine.submit("runtime.deprovision", Some(&resource), params).await;
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
    let suspended: InstanceRecord = read(&test_engine.engine, &resource).await;
    assert!(suspended.runtime_id.is_none() && suspended.runtime_uid.is_none() && suspended.gone_at.is_none());
    assert!(test.world.standing().await.is_empty());
    assert_eq!(test.run(&test_engine).await.shown.summary.phase, Phase::Succeeded);
    let second: InstanceRecord = read(&test_engine.engine, &resource).await;
    assert_eq!(second.shoot, first.shoot);
    assert!(second.runtime_id.is_some() && second.runtime_id != first.runtime_id);
}

#[tokio::test]
async fn bindings_end_before_the_cluster_goes() {
    let (test, test_engine) = life().await;
    assert_eq!(test.run(&test_engine).await.shown.summary.phase, Phase::Succeeded);
    let instance_id = test.instance_id();
    let record: InstanceRecord = read(&test_engine.engine, &test.resource().unwrap()).await;
    let resource = Binding::resource(&instance_id, "b-1");
    write(&test_engine.engine, &resource, &binding(&test_engine.engine, &instance_id)).await;
    // The kubeconfig is being rotated: the binding waits for the new one.
    test.manager().fault(&json!({"kind": "kubeconfig_rotating", "times": 2})).await;
    let params = bind_params(&instance_id, &record.runtime_id.unwrap());
    let id = test_engine.submit("runtime.bind", Some(&resource), params).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    assert_eq!(test.world.standing_of("service_account").await.len(), 1);

    let params = only_the_instance(&instance_id, "");
    let id = test_engine.submit("runtime.deprovision", test.resource().as_deref(), params).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    assert_eq!(test.world.standing_of("service_account").await.len(), 0);
    assert!(test.world.standing().await.is_empty());
}

/// The account of an instance is a label of all its objects.
#[tokio::test]
async fn an_account_move_labels_the_runtime_and_what_stands_beside_it() {
    for is_there in [true, false] {
        let params = |instance: &str, _: &str| json!({"instance_id": instance, "context": {"globalaccount_id": "ga-2", "subaccount_id": "sa-1"}});
        let test = RuntimeTest::on(MANAGER, |drivers| update::plan(drivers), Before::Ready, params).await;
        let test_engine = test.test_engine().await;
        test.prepare(&test_engine.engine).await;
        let id = test.runtime_id();
        if !is_there {
            test.manager().remove_companions(&id).await;
        }
        let ended = test.run(&test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
        let runtime = test.manager().get(&id).await;
        assert_eq!((&*runtime.labels[GLOBAL_ACCOUNT_ID], runtime.generation), ("ga-2", 1));
        for companion in ["kymas", "gardenerclusters"] {
            let labels = test.manager().labels_of(companion, &id).await;
            assert_eq!(labels.is_some(), is_there, "{companion}");
            let Some(labels) = labels else { continue };
            assert_eq!(labels[GLOBAL_ACCOUNT_ID], "ga-2", "{companion}");
            assert_eq!(labels["kyma-project.io/subaccount-id"], "sa-1", "{companion}: the others stay");
        }
        let record: InstanceRecord = read(&test_engine.engine, &test.resource().unwrap()).await;
        assert_eq!(record.account, "ga-2");
    }
}

async fn deprovisioning() -> RuntimeTest<deprovision::Deprovision> {
    RuntimeTest::on(MANAGER, |drivers| deprovision::plan(drivers), Before::Ready, only_the_instance).await
}

#[tokio::test]
async fn the_kyma_resource_goes_before_the_cluster() {
    let test = deprovisioning().await;
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    test.manager().delays(&json!({"kyma_ms": 600_000})).await;
    let id = test_engine.submit("runtime.deprovision", test.resource().as_deref(), test.params()).await;
    let waiting = test_engine.until(id, |phase| phase == Phase::Waiting || phase.is_final()).await;
    assert_eq!(waiting.shown.summary.step.as_deref(), Some("remove_kyma"));
    assert!(!test.manager().get(&test.runtime_id()).await.is_being_deleted());
    test.manager().advance(600_000).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    assert!(test.world.standing().await.is_empty());
}

#[tokio::test]
async fn a_kyma_resource_that_stays_is_listed_and_holds_up_nothing() {
    let mut test = deprovisioning().await;
    test.settings(|settings| settings.kyma_limit = Duration::from_millis(50));
    let test_engine = test.test_engine().await;
    test.prepare(&test_engine.engine).await;
    test.manager().fault(&json!({"kind": "kyma_deletion_hangs"})).await;
    let ended = test.run(&test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{}", reason(&ended));
    let left = ended.memory.facts["remove_kyma.removal"].to_string();
    assert!(left.contains("operator.kyma-project.io/Kyma"), "{left}");
    assert_eq!(test.world.standing_of("cluster").await.len(), 0);
    assert_eq!(test.world.standing_of("kyma").await.len(), 1);
}

#[tokio::test]
async fn a_change_of_the_setting_moves_no_instance() {
    let (mut test, test_engine) = life().await;
    assert_eq!(test.run(&test_engine).await.shown.summary.phase, Phase::Succeeded);
    let catalog = (*test.drivers.runtimes.catalog).clone();
    let catalog = Arc::new(catalog.with_backends(|_| BackendKind::Provisioner));
    Arc::make_mut(&mut test.drivers.runtimes).catalog = catalog;
    let row = test_engine.engine.resource(&test.resource().unwrap()).await.unwrap().unwrap();
    let other = test.test_engine_with(deprovision::plan(&test.drivers)).await;
    let record: InstanceRecord = serde_json::from_str(&row.record).unwrap();
    write(&other.engine, &test.resource().unwrap(), &record).await;
    let params = only_the_instance(&test.instance_id(), "");
    let id = other.submit("runtime.deprovision", test.resource().as_deref(), params).await;
    assert_eq!(other.finished(id).await.shown.summary.phase, Phase::Succeeded);
    assert!(test.world.standing().await.is_empty());
    assert_eq!(test.world.made("runtime").await, 0, "the Provisioner was asked for nothing");
}
