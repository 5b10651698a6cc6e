//! Runtimes that OpenNebula does not make, or not in time: the caller hears why, and nothing stands.

use serde_json::{Value, json};

use super::{NOTHING, ServerlessServer, ever_made, function, quick, runtime};
use crate::stage::{until, until_or};

fn both() -> Value {
    runtime(&json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}}))
}

/// It left the service behind, and with a time limit below 30 seconds its answer was 500 with the body `0`.
#[test]
fn machines_that_do_not_come_in_time_are_504_and_leave_nothing() {
    let scene = ServerlessServer::open(quick().env("PROVISION_ENGINE_SERVERLESS__TIMEOUT", "2s"));
    scene.faults("no_nodes");
    let late = scene.post(&both()).is(504);
    let error = late.json["error"].as_str().unwrap();
    let service = error.strip_prefix("OpenNebula did not create VMs for the Serverless Runtime Service ");
    assert!(service.is_some_and(|id| id.parse::<u32>().is_ok()), "{error}");
    until("the end of everything", || (scene.standing() == NOTHING).then_some(()));
    assert_eq!(ever_made(&scene.sandbox.url).len(), 2, "a document and a service were made, and no machine");
    // Late, and still in time.
    scene.faults("delayed_nodes");
    scene.tell("/opennebula/pace", &json!({"delayed_nodes_ms": 600}));
    scene.post(&both()).is(201);
}

/// Whether it noticed was a matter of luck; where it did not, it waited half a minute and left everything.
#[test]
fn a_service_that_fails_is_500_with_its_log_and_leaves_nothing() {
    let scene = ServerlessServer::open(quick());
    // A service that fails after it has machines does so before any user looks.
    scene.tell("/opennebula/pace", &json!({"pending_ms": 0, "prolog_ms": 0, "boot_ms": 0}));
    for (kind, machines) in [("fails_deploying_now", 0), ("fails_deploying_later", 2)] {
        let before = ever_made(&scene.sandbox.url).len();
        scene.faults(kind);
        let failed = scene.post(&both()).is(500);
        let error = failed.json["error"].as_str().unwrap();
        assert!(error.ends_with(" entered FAILED state after creation"), "{error}");
        let log = failed.json["message"].as_array().unwrap_or_else(|| panic!("{}", failed.text));
        let is_line = |line: &Value| {
            line["timestamp"].is_i64() && line["severity"].is_string() && line["message"].is_string()
        };
        assert!(log.iter().all(is_line) && log.iter().any(|line| line["severity"] == "E"), "{log:?}");
        assert_eq!(log.last().unwrap()["message"], "New state: FAILED_DEPLOYING", "{log:?}");
        assert_eq!(scene.standing(), NOTHING, "{kind}");
        assert_eq!(ever_made(&scene.sandbox.url).len() - before, 2 + machines, "{kind}");
    }
    let broken = scene.post(&function("FAILED_DEPLOY")).is(500);
    assert!(broken.json["message"].is_array(), "{}", broken.text);
    assert_eq!(scene.standing(), NOTHING);
}

/// The answer of OneFlow is lost after the work, or comes after the time limit.
#[test]
fn an_answer_that_is_lost_leads_to_one_service() {
    let scene = ServerlessServer::open(quick());
    for (system, about) in [("oneflow", "instantiate"), ("oned", "document.allocate")] {
        let fault = json!({"system": system, "kind": "drop_after", "about": about});
        scene.sandbox.arm(&fault);
        let id = scene.made(&function("Function"));
        scene.wait_for_the_fault();
        assert_eq!(scene.standing().len(), 3, "{about}: {:?}", scene.standing());
        scene.delete(id).is(204);
        assert_eq!(scene.standing(), NOTHING, "{about}");
    }
    assert_eq!(ever_made(&scene.sandbox.url).len(), 6, "one of each, twice");
}

/// It answered 500, and told who asked where OpenNebula is.
#[test]
fn an_opennebula_that_is_away_is_503_and_nothing_is_begun() {
    let scene = ServerlessServer::open(quick());
    let id = scene.made(&function("Function"));
    for system in ["oned", "oneflow"] {
        scene.sandbox.arm(&json!({"system": system, "kind": "drop_before", "times": 0}));
    }
    for answer in [scene.post(&function("Function")), scene.get(id), scene.delete(id)] {
        let answer = answer.is(503);
        assert!(answer.text.contains("is not answering"), "{}", answer.text);
        assert!(!answer.text.contains("127.0.0.1"), "{}", answer.text);
    }
    assert_eq!(scene.operations().len(), 1);
}

/// OneFlow goes on after its caller has given up. What it makes then belongs to a user all the same.
#[test]
fn a_call_that_is_given_up_and_carried_out_later_leaves_no_second_service() {
    let scene = ServerlessServer::open(quick().env("PROVISION_ENGINE_SERVERLESS__CALL_TIMEOUT", "400ms"));
    let slow =
        |about: &str| json!({"system": "oneflow", "kind": "latency", "latency_ms": 1000, "about": about});
    scene.sandbox.arm(&slow("instantiate"));
    let answer = scene.post(&function("Function"));
    // A call that is as slow and begins later ends later.
    scene.sandbox.arm(&slow("service/999999"));
    let (nebula, credentials) = scene.nebula();
    scene.runtime.block_on(nebula.delete_service(&credentials, 999_999)).unwrap_err();
    let services = ever_made(&scene.sandbox.url).iter().filter(|made| made.starts_with("service")).count();
    assert!(services > 0, "the slow call was not carried out");
    let left = || format!("{services} services were made, and this is left: {:?}", scene.standing());
    if answer.status == 201 {
        scene.delete(answer.id()).is(204);
        assert!(scene.standing() == NOTHING, "{}", left());
    } else {
        until_or(|| (scene.standing() == NOTHING).then_some(()), left);
    }
}
