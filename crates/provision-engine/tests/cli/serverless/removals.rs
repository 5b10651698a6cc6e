//! Removals under every condition that is known to keep a runtime alive, or a part of it: each is answered with
//! 204 when nothing stands any longer.

use ::opennebula::VmAction;
use serde_json::{Value, json};

use super::{NOTHING, ServerlessServer, function, number, quick, runtime};
use crate::stage::{until, until_or};

fn both() -> Value {
    runtime(&json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}}))
}

/// It answered 204, and the machine went on to run for ever.
#[test]
fn a_machine_that_boots_while_it_is_deleted_does_not_stay() {
    let scene = ServerlessServer::open(quick());
    scene.tell("/opennebula/pace", &json!({"boot_ms": 1200}));
    let id = scene.made(&both());
    assert_eq!(scene.standing().len(), 4);
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING);
    scene.get(id).is(404);
}

#[test]
fn a_removal_that_takes_longer_than_its_caller_waits_is_504_and_goes_on() {
    let scene = ServerlessServer::open(quick().env("PROVISION_ENGINE_SERVERLESS__TIMEOUT", "1s"));
    let id = scene.running(&function("Function"));
    scene.tell("/opennebula/pace", &json!({"terminate_ms": 6500}));
    let late = scene.delete(id).is(504);
    assert!(late.text.contains("/serverless-runtimes/operations/"), "{}", late.text);
    assert_ne!(scene.standing(), NOTHING, "it was over too early to prove anything");
    // It is gone for everybody, and can be removed as often as any user likes.
    scene.get(id).is(404);
    until_or(
        || (scene.standing() == NOTHING).then_some(()),
        || format!("this is left: {:?} {:?}", scene.standing(), scene.operations()),
    );
    until("the end of the operation", || {
        scene.operations().iter().all(|operation| operation["phase"] == "succeeded").then_some(())
    });
}

#[test]
fn a_removal_is_never_called_done_while_oneflow_is_away() {
    let scene = ServerlessServer::open(quick().env("PROVISION_ENGINE_SERVERLESS__TIMEOUT", "1s"));
    let id = scene.running(&function("Function"));
    scene.sandbox.arm(&json!({"system": "oneflow", "kind": "drop_before", "times": 0}));
    let late = scene.delete(id).is(504);
    assert!(!late.text.contains("not answering"), "a passing error is not the end: {}", late.text);
    assert_ne!(scene.standing(), NOTHING);
    scene.sandbox.disarm();
    until("the end of everything", || (scene.standing() == NOTHING).then_some(()));
}

/// Each row is what goes wrong in OpenNebula, in its order.
#[test]
fn nothing_that_goes_wrong_in_opennebula_keeps_a_runtime_alive() {
    let scene = ServerlessServer::open(quick());
    let table: [&[&str]; 9] = [
        &["service_vanishes"],
        &["delete_refused"],
        &["delete_refused", "recover_delete_lies"],
        &["delete_refused", "recover_delete_lies", "delete_refused", "recover_delete_lies"],
        &["undeploy_fails"],
        &["undeploy_fails", "recover_delete_lies"],
        &["forgets_vm"],
        &["undeploy_fails", "forgets_vm"],
        &[],
    ];
    for kinds in table {
        let id = scene.running(&both());
        for kind in kinds {
            scene.faults(kind);
        }
        if kinds.is_empty() {
            // The daemon has no leader for a moment, in the middle of it.
            scene.tell("/opennebula/faults", &json!({"kind": "election", "about": "one.document.delete"}));
        }
        scene.delete(id).is(204);
        assert_eq!(scene.standing(), NOTHING, "{kinds:?}");
        scene.delete(id).is(404);
        let left = scene.look("/opennebula/faults");
        assert_eq!(left["faults"], json!([]), "{kinds:?} did not happen");
    }
}

/// It answered every request about such a runtime with 404 or a page of HTML, for ever.
#[test]
fn what_others_removed_behind_our_back_does_not_keep_the_rest_alive() {
    let scene = ServerlessServer::open(quick());
    let (nebula, credentials) = scene.nebula();
    let id = scene.running(&both());
    let vm = number(&scene.get(id).seen()["FAAS"]["VM_ID"]);
    scene.runtime.block_on(nebula.act(&credentials, vm, VmAction::TerminateHard)).unwrap();
    let is_gone = |kind: &str| !scene.standing().contains(&format!("vm {kind}"));
    until("the end of the machine", || is_gone(&vm.to_string()).then_some(()));
    let shown = scene.get(id).is(200);
    assert_eq!(shown.seen()["FAAS"]["STATE"], "ERROR", "{}", shown.text);
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING);

    let id = scene.running(&both());
    let service = number(&scene.get(id).seen()["SERVICE_ID"]);
    scene.runtime.block_on(nebula.delete_service(&credentials, service)).unwrap();
    until("the end of the service", || (scene.standing().len() == 1).then_some(()));
    scene.get(id).is(200);
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING);

    let id = scene.running(&both());
    scene.faults("service_vanishes");
    let shown = scene.get(id).is(200);
    let states = ["FAAS", "DAAS"].map(|role| shown.seen()[role]["STATE"].clone());
    assert_eq!(states, ["ERROR", "ERROR"], "{}", shown.text);
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING);
}
