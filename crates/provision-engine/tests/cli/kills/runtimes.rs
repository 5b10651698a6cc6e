//! Kills while a runtime is made, changed and removed. The Provisioner makes one for every call and cannot be
//! asked what it made, so what counts is how many it was ever asked for: one.

use ::runtimes::model::{DEPROVISION, InstanceRecord, PROVISION, UPDATE, seal_json};
use engine::store::{Expect, OperationQuery};
use engine::{Command, OperationId, Phase, RecordWrites, Resource};
use reqwest::Method;
use serde_json::{Value, json};

use super::boundaries::{Drama, Life, block_on, script};
use crate::runtimes::{AZURE, RuntimesCli, SERVICE, quick, runtimes, wanted};
use crate::stage::{call, until};

const ACCOUNT: &str = "ga";

const RUNTIME: Drama = Drama {
    player: "kills::runtimes::the_process_that_is_killed",
    kills_min: 30,
    judge: one_was_made_and_none_stands,
};

#[test]
fn a_kill_at_any_save_of_the_life_of_a_runtime_on_sqlite_leaves_none_and_makes_one() {
    RUNTIME.on_sqlite();
}

#[test]
fn a_kill_at_any_save_of_the_life_of_a_runtime_on_postgres_leaves_none_and_makes_one() {
    RUNTIME.on_postgres();
}

/// Not a test of its own: what the tests above start, and kill.
#[test]
fn the_process_that_is_killed() {
    let Some(script) = script() else { return };
    // Long enough that all three have to wait for the Provisioner.
    let lasting = json!({"provision_ms": 50, "upgrade_ms": 50, "deprovision_ms": 50});
    let sandbox = script["sandbox"].as_str().unwrap();
    call(Method::PUT, &format!("{sandbox}/provisioner/script"), Some(&lasting));
    block_on(async {
        let life = Life::begin(&script).await;
        let id = instance_id(&script);
        let first = json!({"name": "n", "region": "westeurope"});
        let then = json!({
            "name": "n", "region": "westeurope", "machineType": "Standard_D16_v3", "kymaVersion": "1.24.9",
        });
        for (workflow, params) in [
            (PROVISION, json!({"instance_id": id})),
            (UPDATE, json!({"instance_id": id, "parameters": then})),
            (DEPROVISION, json!({"instance_id": id})),
        ] {
            let operation = match known(&life, workflow, &id).await {
                Some(operation) => operation,
                None => order(&life, workflow, &id, params, &first).await,
            };
            life.ends(operation, Phase::Succeeded).await;
        }
        life.close(3).await;
    });
}

fn instance_id(script: &Value) -> String {
    format!("i-{}", script["number"])
}

/// What the process before has ordered.
async fn known(life: &Life, workflow: &str, id: &str) -> Option<OperationId> {
    let (workflow, resource) = (Some(workflow.to_owned()), Some(InstanceRecord::resource(id)));
    let found = life
        .truth
        .list(&OperationQuery { workflow, resource, limit: 2, ..OperationQuery::default() })
        .await
        .unwrap();
    assert!(found.len() < 2, "{found:?}");
    found.first().map(|operation| operation.id)
}

/// As the broker does: the record and the operation in one write.
async fn order(life: &Life, workflow: &str, id: &str, params: Value, first: &Value) -> OperationId {
    let (engine, resource) = (&life.fixture.engine, InstanceRecord::resource(id));
    let subject = if let Some(row) = engine.resource(&resource).await.unwrap() {
        (Expect::Version(row.version), None)
    } else {
        let sealer = engine.sealer(ACCOUNT, &resource);
        let seal = |value: &Value| seal_json(value.as_object().unwrap(), &sealer);
        let instance = InstanceRecord {
            plan: "azure".into(),
            provider: "azure".into(),
            region: "westeurope".into(),
            account: ACCOUNT.into(),
            subaccount: "sa".into(),
            ..InstanceRecord::new(id, SERVICE, AZURE, seal(first), seal(&json!({})))
        };
        (Expect::Absent, Some(instance.record_update().unwrap()))
    };
    let command = Command {
        name: None,
        workflow: workflow.into(),
        tenant: ACCOUNT.into(),
        resource: Some(resource),
        params,
        by: "kills".into(),
        idempotency_key: None,
        queue: false,
    };
    let along = RecordWrites { subject: Some(subject), ..RecordWrites::default() };
    engine.accept(command, along).await.unwrap().id
}

fn one_was_made_and_none_stands(script: &Value) {
    let sandbox = script["sandbox"].as_str().unwrap();
    assert_eq!(runtimes(sandbox, &instance_id(script)), (1, 0), "after {script}");
    let ledger = call(Method::GET, &format!("{sandbox}/ledger"), None);
    assert_eq!(ledger["effects"], json!([]), "after {script}");
}

/// The program is killed while it waits for the answer of the Provisioner, which works on. The next one begins
/// before the runtime is there, or after that.
#[test]
fn a_kill_while_the_provisioner_is_asked_for_a_runtime_leads_to_one_runtime() {
    let mut scene = RuntimesCli::open(quick().env("PROVISION_ENGINE_RUNTIME__SETTLE", "30s"));
    for (id, waits) in [("before", false), ("after", true)] {
        scene.sandbox.arm(&json!({"system": "provisioner", "kind": "hold", "about": "provisionRuntime"}));
        let operation = scene.put(id, &wanted(id)).operation().to_owned();
        scene.wait_for_the_fault();
        let RuntimesCli { server, sandbox, place, .. } = scene;
        server.kill();
        assert_eq!(runtimes(&sandbox.url, id), (0, 0), "the Provisioner was not held");
        if waits {
            sandbox.release();
            until("the runtime", || (runtimes(&sandbox.url, id).0 == 1).then_some(()));
        }
        scene = RuntimesCli::at(place, sandbox, "error");
        scene.sandbox.release();
        scene.ends(id, &operation, "succeeded");
        assert_eq!(scene.runtimes(id), (1, 1));
        let operation = scene.delete(id).operation().to_owned();
        scene.ends(id, &operation, "succeeded");
        assert_eq!(scene.runtimes(id), (1, 0));
    }
    assert_eq!(scene.standing(), [] as [Value; 0]);
    testing::count("kills", 2);
}
