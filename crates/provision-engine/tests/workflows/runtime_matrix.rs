//! The workflows of runtimes on both back ends: the same table, judged by the same ledger.

use ::runtimes::backend::BackendKind;
use ::runtimes::model::InstanceRecord;
use ::runtimes::workflows::{bind, deprovision, provision, update};
use engine::{Phase, Workflow};
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};

use crate::runtime_test::{Before, RuntimeTest, read};
use crate::world::Drivers;

pub(crate) fn only_the_instance(instance: &str, _runtime: &str) -> Value {
    json!({"instance_id": instance})
}

pub(crate) fn suspension(instance: &str, _runtime: &str) -> Value {
    json!({"instance_id": instance, "temporary": true})
}

pub(crate) fn more_machines(instance: &str, _runtime: &str) -> Value {
    json!({"instance_id": instance, "parameters": {"name": "n", "region": "westeurope", "autoScalerMax": 7}})
}

pub(crate) fn bind_params(instance: &str, runtime: &str) -> Value {
    json!({"instance_id": instance, "binding_id": "b-1", "runtime_id": runtime, "account": "ga-1",
           "subaccount": "sa-1", "expiration_seconds": 600})
}

/// Each line is a workflow, what is there before it, and its params. All of them pass the workflow tests, and none minds
/// an answer of the back end that is lost on the wire.
macro_rules! on_both_backends {
    ($($name:ident: $plan:path, $before:expr, $params:expr;)*) => {
        on_both_backends!(@on provisioner, BackendKind::Provisioner, $($name: $plan, $before, $params;)*);
        on_both_backends!(@on infrastructure_manager, BackendKind::InfrastructureManager,
            $($name: $plan, $before, $params;)*);
    };
    (@on $module:ident, $backend:expr, $($name:ident: $plan:path, $before:expr, $params:expr;)*) => {
        mod $module {
            use super::*;
            $(mod $name {
                use super::*;

                #[tokio::test]
                async fn passes_all_workflow_tests() {
                    let test = RuntimeTest::on($backend, |drivers| $plan(drivers), $before, $params).await;
                    workflow_test::check_all(&test).await;
                }

                #[tokio::test]
                async fn survives_the_loss_of_any_answer() {
                    let test = RuntimeTest::on($backend, |drivers| $plan(drivers), $before, $params).await;
                    lose_every_answer(&test, $backend).await;
                }
            })*
        }
    };
}

on_both_backends! {
    provisioning: provision::plan, Before::Asked, only_the_instance;
    unsuspending: provision::plan, Before::Suspended, only_the_instance;
    updating: update::plan, Before::Ready, more_machines;
    suspending: deprovision::plan, Before::Ready, suspension;
    deprovisioning: deprovision::plan, Before::Ready, only_the_instance;
    binding: bind::plan, Before::ToBind, bind_params;
}

#[tokio::test]
async fn an_update_of_a_suspended_instance_is_saved_for_its_next_cluster() {
    for backend in [BackendKind::Provisioner, BackendKind::InfrastructureManager] {
        let plan = |drivers: &Drivers| update::plan(drivers);
        let test = RuntimeTest::on(backend, plan, Before::Suspended, more_machines).await;
        let test_engine = test.test_engine().await;
        test.prepare(&test_engine.engine).await;
        let ended = test.run(&test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        assert!(test.world.standing().await.is_empty());
        let resource = test.resource().unwrap();
        let record: InstanceRecord = read(&test_engine.engine, &resource).await;
        let saved = record.parameters(&test_engine.engine.sealer("test", &resource)).unwrap();
        assert_eq!((record.suspended, &saved["autoScalerMax"]), (true, &json!(7)));
    }
}

/// Has the back end do what it is asked, and loses the answer: of the first call, of the second, and so on.
async fn lose_every_answer<W: Workflow>(test: &RuntimeTest<W>, backend: BackendKind) {
    let system = match backend {
        BackendKind::Provisioner => "provisioner",
        BackendKind::InfrastructureManager => "infrastructure_manager",
    };
    let mut expect = None;
    for number in 0_u32.. {
        test.clear().await;
        let test_engine = test.test_engine().await;
        test.prepare(&test_engine.engine).await;
        // The first run loses nothing, and says what is left of one.
        if let Some(after) = number.checked_sub(1) {
            let fault = json!({"system": system, "kind": "drop_after", "after": after});
            test.world.fault(&fault).await;
        }
        let ended = test.run(&test_engine).await;
        let why = format!("answer {number}: {:?}", ended.memory.last_error);
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{why}");
        let hits = test.world.get("/faults").await["faults"][0]["hits"].as_u64();
        test.world.no_faults().await;
        let standing = test.standing().await;
        assert_eq!(standing.len(), *expect.get_or_insert(standing.len()), "{why} left {standing:?}");
        test_engine.close().await;
        if hits == Some(0) {
            assert!(number > 1, "no call was hit");
            return;
        }
    }
}
