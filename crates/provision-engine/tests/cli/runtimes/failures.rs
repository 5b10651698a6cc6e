//! A Provisioner in trouble, and what a person reads about it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{RuntimesCli, changed, quick, wanted};
use crate::stage::call;

const ASK: &str = "provisionRuntime";
const LOOK: &str = "runtimeOperationStatus";

/// What a person reads while it is unknown whether a runtime was made.
const UNKNOWN: &str = "its Director may still hear of the runtime";

/// A call may take half a second at most, and what came of it is clear a second later.
fn scene() -> RuntimesCli {
    let place = quick().env("PROVISION_ENGINE_DRIVERS__PROVISIONER__TIMEOUT", "250ms");
    RuntimesCli::open(place.env("PROVISION_ENGINE_RUNTIME__SETTLE", "1500ms"))
}

fn fault(kind: &str, about: &str, more: &Value) -> Value {
    let mut fault = json!({"system": "provisioner", "kind": kind, "about": about, "times": 0});
    for (name, value) in more.as_object().unwrap() {
        fault[name] = value.clone();
    }
    fault
}

fn clear(scene: &RuntimesCli) {
    call(Method::DELETE, &format!("{}/faults", scene.sandbox.url), None);
}

/// As long as the trouble lasts the operation goes on and says what it is; then it succeeds, with one runtime.
#[test]
fn failure_that_passes_is_told_and_costs_only_time() {
    let scene = scene();
    let table = [
        ("slow", fault("latency", ASK, &json!({"latency_ms": 700})), "is not answering"),
        ("ill", fault("error", ASK, &json!({"status": 500})), "500 Internal Server Error"),
        ("dumb", fault("garbage", ASK, &json!({})), "not GraphQL"),
        ("away", fault("drop_before", ASK, &json!({})), "is not answering"),
        ("late", fault("latency", LOOK, &json!({"latency_ms": 700})), "is not answering"),
        ("blind", fault("error", LOOK, &json!({"status": 502})), "502 Bad Gateway"),
        ("odd", fault("garbage", LOOK, &json!({})), "not GraphQL"),
        ("mute", fault("drop_after", LOOK, &json!({})), "is not answering"),
        ("full", fault("error", LOOK, &json!({"status": 429, "retry_after_s": 1})), "asks to wait for 1 s"),
    ];
    for (id, fault, part) in &table {
        scene.sandbox.arm(fault);
        let operation = scene.put(id, &wanted(id)).operation().to_owned();
        scene.tells(id, &operation, part);
        clear(&scene);
        scene.ends(id, &operation, "succeeded");
        assert_eq!(scene.runtimes(id), (1, 1), "{id}");
    }
}

#[test]
fn an_answer_that_is_lost_after_the_work_leads_to_one_runtime() {
    let scene = scene();
    scene.sandbox.arm(&fault("drop_after", ASK, &json!({"times": 1})));
    let operation = scene.put("lost", &wanted("lost")).operation().to_owned();
    scene.ends("lost", &operation, "succeeded");
    assert_eq!(scene.runtimes("lost"), (1, 1));
}

#[test]
fn errors_of_graphql_are_final_or_not_by_their_class() {
    let scene = scene();
    let refuse = |operation: &str, code: u16, times: u32, message: &str| {
        scene.fail(&json!({
            "operation": operation, "kind": "error", "error_code": code, "times": times, "message": message,
        }));
    };
    let forget = || call(Method::DELETE, &format!("{}/provisioner/faults", scene.sandbox.url), None);

    refuse("Provision", 400, 1, "no seed is left in this region");
    let operation = scene.put("refused", &wanted("refused")).operation().to_owned();
    let told = scene.ends("refused", &operation, "failed");
    assert!(told.contains("no seed is left in this region"), "{told}");
    assert_eq!(scene.runtimes("refused"), (0, 0));

    refuse("Provision", 500, 0, "the database of the Provisioner is full");
    let operation = scene.put("later", &wanted("later")).operation().to_owned();
    scene.tells("later", &operation, UNKNOWN);
    scene.tells("later", &operation, "the database of the Provisioner is full");
    forget();
    scene.ends("later", &operation, "succeeded");
    assert_eq!(scene.runtimes("later"), (1, 1));

    refuse("Status", 500, 0, "the disk of the Provisioner is slow");
    let operation = scene.put("unseen", &wanted("unseen")).operation().to_owned();
    scene.tells("unseen", &operation, "the disk of the Provisioner is slow");
    forget();
    scene.ends("unseen", &operation, "succeeded");

    scene.fail(&json!({
        "operation": "Provision", "kind": "operation", "message": "no IP addresses are left",
        "reason": "ERR_INFRA_QUOTA_EXCEEDED",
    }));
    let operation = scene.put("failed", &wanted("failed")).operation().to_owned();
    let told = scene.ends("failed", &operation, "failed");
    assert!(told.contains("no IP addresses are left"), "{told}");

    // Also a deletion and a change tell, and both can be asked for again.
    refuse("UpgradeShoot", 400, 1, "this machine is not sold any longer");
    let body = changed(&json!({"machineType": "Standard_D16_v3"}));
    let operation = scene.patch("later", &body).operation().to_owned();
    let told = scene.ends("later", &operation, "failed");
    assert!(told.contains("this machine is not sold any longer"), "{told}");
    let last = scene.last("later", &operation);
    assert_eq!((&last["instance_usable"], &last["update_repeatable"]), (&json!(true), &json!(true)));
    let operation = scene.patch("later", &body).operation().to_owned();
    scene.ends("later", &operation, "succeeded");

    scene.fail(&json!({"operation": "Deprovision", "kind": "operation", "message": "the disks are in use"}));
    let operation = scene.delete("later").operation().to_owned();
    let told = scene.ends("later", &operation, "failed");
    assert!(told.contains("the disks are in use"), "{told}");
    for id in ["refused", "later", "unseen", "failed"] {
        let operation = scene.delete(id).operation().to_owned();
        scene.ends(id, &operation, "succeeded");
        assert_eq!(scene.runtimes(id).1, 0, "{id}");
    }
    assert_eq!(scene.standing(), [] as [Value; 0]);
}
