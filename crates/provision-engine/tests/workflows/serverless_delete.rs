//! How runtimes are removed, and that nothing of them stays.

use ::serverless::workflows::delete;
use engine::{Inspection, Phase};
use serde_json::{Value, json};

use crate::serverless_site::{ServerlessSite, credentials, succeeded};

fn both() -> Value {
    json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}})
}

fn is_done(ended: &Inspection) {
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
}

#[tokio::test]
async fn a_runtime_goes_with_everything_that_belongs_to_it() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, both()).await;
    assert_eq!(site.kinds().await, ["document", "service", "vm", "vm"]);
    is_done(&site.delete(&test_engine, id).await.unwrap());
    assert_eq!(site.kinds().await, [""; 0]);
    assert_eq!(site.read(id).await.unwrap_err().status, 404);
    assert_eq!(site.delete(&test_engine, id).await.unwrap_err().status, 404);
}

#[tokio::test]
async fn a_runtime_that_is_still_booting_leaves_no_machine() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.world.post("/opennebula/pace", &json!({"boot_ms": 400})).await;
    let made = succeeded(&site.create(&test_engine, both()).await.unwrap());
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    is_done(&site.delete(&test_engine, id).await.unwrap());
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn whatever_oneflow_does_nothing_is_left() {
    for faults in
        ["delete_refused", "undeploy_fails", "recover_delete_lies", "service_vanishes", "forgets_vm"]
    {
        let site = ServerlessSite::start().await;
        let test_engine = site.test_engine().await;
        let id = site.running(&test_engine, both()).await;
        site.faults(&json!({"kind": faults})).await;
        if faults == "recover_delete_lies" {
            site.faults(&json!({"kind": "delete_refused"})).await;
        }
        is_done(&site.delete(&test_engine, id).await.unwrap());
        assert_eq!(site.kinds().await, [""; 0], "{faults}");
    }
}

#[tokio::test]
async fn lost_answers_do_not_keep_anything_alive() {
    for (system, about) in [
        ("oned", "one.document.update"),
        ("oned", "one.document.delete"),
        ("oned", "one.vmpool.info"),
        ("oneflow", "service"),
    ] {
        for kind in ["drop_after", "drop_before", "garbage"] {
            let site = ServerlessSite::start().await;
            let test_engine = site.test_engine().await;
            let id = site.running(&test_engine, both()).await;
            site.world.fault(&json!({"system": system, "kind": kind, "about": about, "times": 2})).await;
            is_done(&site.delete(&test_engine, id).await.unwrap());
            assert_eq!(site.kinds().await, [""; 0], "{kind} {about}");
        }
    }
}

#[tokio::test]
async fn a_runtime_that_is_being_removed_is_gone_for_everyone_else_and_can_be_removed_again() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, both()).await;
    let fault = json!({"system": "oneflow", "kind": "error", "status": 401, "about": "service", "times": 0});
    site.world.fault(&fault).await;
    let ended = site.delete(&test_engine, id).await.unwrap();
    assert_eq!(ended.shown.summary.phase, Phase::Failed, "{:?}", ended.memory.last_error);
    let error_response = &ended.memory.state["refusal"];
    assert!(
        error_response["error"].as_str().unwrap().starts_with("Failed to delete Serverless Runtime"),
        "{error_response}"
    );
    assert_eq!(site.read(id).await.unwrap_err().status, 404);
    assert_eq!(
        site.update(&test_engine, id, json!({"FAAS": {"FLAVOUR": ""}})).await.unwrap_err().status,
        404
    );
    site.world.no_faults().await;
    is_done(&site.delete(&test_engine, id).await.unwrap());
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn only_who_may_remove_a_runtime_removes_it() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, both()).await;
    for (user, password, status) in [("other", "otherpass", 403), ("cognit", "wrong", 401)] {
        let who = credentials(user, password);
        let error_response = delete::prepare(site.serverless(), &who, id).await.unwrap_err();
        assert_eq!(
            (error_response.status, error_response.error.as_str()),
            (status, "Failed to read Serverless Runtime Document")
        );
    }
    site.who = credentials("oneadmin", "opennebula");
    is_done(&site.delete(&test_engine, id).await.unwrap());
    assert_eq!(site.kinds().await, [""; 0]);
}
