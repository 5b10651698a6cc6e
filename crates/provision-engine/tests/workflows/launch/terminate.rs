//! Machines of launches that are over, and how they end.

use std::sync::{Arc, Mutex};

use ::launch::model::cloud::{CloudAccount, InstanceRequest, InstanceState, ProviderKind};
use ::launch::model::params::LaunchOwner;
use ::launch::model::record::LaunchRecord;
use ::launch::workflows::termination::{self, Params, Terminate, Termination, TerminationProgress};
use async_trait::async_trait;
use engine::{Clock, Engine, OperationId, Phase, Plan, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};
use uuid::Uuid;

use super::site::{AMI, BegunLaunch, LaunchSite, REGION, launch_only, owner, patiently};

/// The machines of a launch that succeeded.
async fn launched(site: &LaunchSite, test_engine: &TestEngine, amount: u32) -> (BegunLaunch, Vec<String>) {
    let begun = site.begin(test_engine, &launch_only(amount)).await;
    let (ended, view) = site.rests(test_engine, begun).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let ids = view.record.state.instances.iter().map(|tracked| tracked.instance.id.clone()).collect();
    (begun, ids)
}

async fn ask(test_engine: &TestEngine, id: &str) -> TerminationProgress {
    let machine = termination::find(&test_engine.engine, &owner(), id).await.unwrap();
    termination::ask(&test_engine.engine, &owner(), &machine).await.unwrap()
}

async fn standing(test_engine: &TestEngine, id: &str) -> TerminationProgress {
    let machine = termination::find(&test_engine.engine, &owner(), id).await.unwrap();
    termination::standing(&test_engine.engine, &machine).await.unwrap()
}

fn operation(standing: &TerminationProgress) -> OperationId {
    let TerminationProgress::Terminating(operation) = standing else { panic!("{standing:?}") };
    *operation
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_machine_goes_and_the_record_loses_nothing_else() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let (begun, ids) = launched(&site, &test_engine, 2).await;
    let before = site.view(&test_engine, begun).await;
    assert_eq!(standing(&test_engine, &ids[0]).await, TerminationProgress::Untouched);
    let asked = ask(&test_engine, &ids[0]).await;
    let ended = test_engine.finished(operation(&asked)).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(standing(&test_engine, &ids[0]).await, TerminationProgress::Terminated);
    assert_eq!((site.standing("instance").await, site.made("instance").await), (1, 2));
    let after = site.view(&test_engine, begun).await;
    let states = |record: &LaunchRecord| -> Vec<InstanceState> {
        record.state.instances.iter().map(|tracked| tracked.instance.state).collect()
    };
    assert_eq!(states(&after.record), [InstanceState::Terminated, InstanceState::Running]);
    assert_eq!((after.stage, after.operation), (before.stage, before.operation));
    assert!(after.record.state.key_claim.is_some(), "the other machine may use the key");
    let without = |record: &LaunchRecord| {
        let mut all = json!(record);
        all["state"]["instances"] = Value::Null;
        all["state"]["key_claim"] = Value::Null;
        all
    };
    assert_eq!(without(&after.record), without(&before.record));
    let last = ask(&test_engine, &ids[1]).await;
    test_engine.finished(operation(&last)).await;
    assert_eq!(site.standing("instance").await, 0);
    assert_eq!(
        site.view(&test_engine, begun).await.record.state.key_claim,
        None,
        "the private half of the key was never saved"
    );
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_again_has_asked_for_the_same() {
    let site = LaunchSite::start().await;
    site.put("/aws/pace", &json!({"terminate_ms": 200})).await;
    let test_engine = site.test_engine().await;
    let (_, ids) = launched(&site, &test_engine, 1).await;
    let first = ask(&test_engine, &ids[0]).await;
    assert_eq!(ask(&test_engine, &ids[0]).await, first);
    assert_eq!(standing(&test_engine, &ids[0]).await, first);
    test_engine.finished(operation(&first)).await;
    assert_eq!(ask(&test_engine, &ids[0]).await, TerminationProgress::Terminated);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_of_others_is_not_there() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let (_, ids) = launched(&site, &test_engine, 1).await;
    let outsider = LaunchOwner { org: "77".into(), ..owner() };
    let foreign = termination::find(&test_engine.engine, &outsider, &ids[0]).await.unwrap_err();
    for unknown in ["i-0123456789abcdef0", "", "i 1", "../launches"] {
        let missing = termination::find(&test_engine.engine, &owner(), unknown).await.unwrap_err();
        assert_eq!(missing, foreign, "{unknown:?}");
    }
    assert_eq!(foreign.status, 404);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_answer_was_lost_is_seen_through() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let (_, ids) = launched(&site, &test_engine, 1).await;
    site.post("/aws/faults/lose", &json!({"action": "TerminateInstances"})).await;
    let asked = ask(&test_engine, &ids[0]).await;
    let ended = test_engine.finished(operation(&asked)).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(site.standing("instance").await, 0);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_under_way_keeps_its_machines() {
    let site = LaunchSite::start().await;
    site.put("/aws/pace", &json!({"address_ms": 3_600_000})).await;
    let test_engine = site.test_engine().await;
    let begun = site.begin(&test_engine, &launch_only(1)).await;
    let has_one = |view: &::launch::model::status::View| view.record.state.has_instances();
    let view = site.until(&test_engine, begun, has_one).await;
    let id = &view.record.state.instances[0].instance.id;
    let machine = termination::find(&test_engine.engine, &owner(), id).await.unwrap();
    let refused = termination::ask(&test_engine.engine, &owner(), &machine).await.unwrap_err();
    assert_eq!((refused.status.as_u16(), refused.code.as_ref()), (409, "launch_under_way"));
    assert!(refused.hint.as_deref().unwrap().contains("terminate=true"));
    assert_eq!(site.standing("instance").await, 1);
    test_engine.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_account_does_not_allow_is_said_and_can_be_asked_for_again() {
    let site = LaunchSite::start().await;
    let test_engine = site.test_engine().await;
    let (_, ids) = launched(&site, &test_engine, 1).await;
    let denied = json!({"action": "TerminateInstances", "code": "UnauthorizedOperation", "times": 0});
    site.post("/aws/faults/fail", &denied).await;
    let asked = ask(&test_engine, &ids[0]).await;
    assert_eq!(test_engine.finished(operation(&asked)).await.shown.summary.phase, Phase::Failed);
    let TerminationProgress::Failed(error) = standing(&test_engine, &ids[0]).await else {
        panic!("it cannot have worked")
    };
    assert!(error.contains("UnauthorizedOperation"), "{error}");
    assert_eq!(site.standing("instance").await, 1);
    site.delete("/aws/faults/fail").await;
    let again = ask(&test_engine, &ids[0]).await;
    assert_ne!(again, asked);
    patiently(async || {
        (standing(&test_engine, &ids[0]).await == TerminationProgress::Terminated).then_some(())
    })
    .await;
    assert_eq!(site.standing("instance").await, 0);
    test_engine.close().await;
}

/// A machine that a user wants to be rid of, made anew for each run.
struct TerminationTest {
    site: LaunchSite,
    machine: Mutex<(Uuid, String)>,
}

#[async_trait]
impl WorkflowTest for TerminationTest {
    type Workflow = Terminate;

    fn plan(&self) -> Plan<Terminate> {
        termination::plan(&self.site.launches)
    }

    fn params(&self) -> Value {
        let (launch, instance_id) = self.machine.lock().unwrap().clone();
        json!(Params {
            owner: owner(),
            launch,
            instance_id,
            provider: ProviderKind::Aws,
            source_id: "sandbox".into(),
            region: REGION.into(),
        })
    }

    fn resource(&self) -> Option<String> {
        let (launch, instance_id) = self.machine.lock().unwrap().clone();
        Some(Termination::resource(launch, &instance_id))
    }

    async fn prepare(&self, _engine: &Engine) {
        let launches = &self.site.launches;
        let account = launches.accounts.get(&owner(), "sandbox").await.unwrap().unwrap();
        let place = CloudAccount { account: &account, region: REGION, session: "trial" };
        let token = Uuid::now_v7().to_string();
        let made = launches.providers[&ProviderKind::Aws].create(&place, &order(&token), &token).await;
        *self.machine.lock().unwrap() = (Uuid::now_v7(), made.unwrap().instances[0].id.clone());
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.site.get("/ledger").await;
        ledger["effects"].as_array().unwrap().iter().map(|effect| effect["token"].to_string()).collect()
    }

    async fn clear(&self) {
        self.site.delete("/ledger").await;
    }
}

fn order(launch_tag: &str) -> InstanceRequest {
    InstanceRequest {
        image: Some(AMI.into()),
        instance_type: Some("t3.micro".into()),
        ..InstanceRequest::new(launch_tag)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_machine_passes_all_workflow_tests() {
    let site = LaunchSite::start().await;
    let workflow_test = TerminationTest { site, machine: Mutex::default() };
    workflow_test::check_all(&workflow_test).await;
}
