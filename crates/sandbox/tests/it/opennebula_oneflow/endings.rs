//! How services end: in good order, by force, and halfway.

use serde_json::json;

use super::caller::{OneFlowClient, log, nodes};

const STUCK: &str = "Error undeploying role FAAS: Error undeploying nodes for role `FAAS`";

#[tokio::test]
async fn a_deleted_service_ends_its_machines_first_and_is_gone_then() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"terminate_ms": 10_000, "undeploy_ms": 10_000})).await;
    let id = caller.start("Function-Data", json!({})).await;
    caller.until(id, 2).await;
    assert!(caller.delete(id).await.is(204, ""));
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][1]["state"]), (&json!(3), &json!(3)));
    caller.advance(4_000).await;
    assert_eq!(caller.machine(nodes(&body, 0)[0]).await.codes(), ("3", "12"));
    let last = nodes(&body, 1);
    caller.advance(6_500).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["state"]), (&json!(12), &json!(5)));
    // The end of the last role is not written down any more.
    assert_eq!((&body["roles"][1]["state"], nodes(&body, 1)), (&json!(3), last));
    assert_eq!(log(&body).last().unwrap(), "I New state: UNDEPLOYING_NETS");
    let call_error = caller.delete(id).await;
    assert!(
        call_error.is(500, "Service cannot be undeployed in state: UNDEPLOYING_NETS"),
        "{}",
        call_error.text
    );
    caller.advance(10_500).await;
    let gone = caller.get(&format!("/service/{id}")).await;
    assert!(gone.is(404, &format!("[one.document.info] Error getting document [{id}].")));
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn a_second_delete_forgets_a_service_whose_machines_are_ending() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"terminate_ms": 10_000})).await;
    let id = caller.start("Straight-Data", json!({})).await;
    let parent = nodes(&caller.until(id, 2).await, 0)[0];
    assert!(caller.delete(id).await.is(204, ""));
    assert!(caller.delete(id).await.is(204, ""));
    assert_eq!(caller.get(&format!("/service/{id}")).await.status, 404);
    caller.advance(60_000).await;
    // The parent's turn never came.
    assert_eq!(caller.standing().await, [format!("oned/vm {parent}")]);
}

#[tokio::test]
async fn a_service_without_machines_is_gone_without_a_stop() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"undeploy_ms": 10_000})).await;
    let failed = caller.start("MissingVMT", json!({})).await;
    caller.until(failed, 7).await;
    assert!(caller.recover_delete(failed).await.is(204, ""));
    for _ in 0..9 {
        assert_eq!(caller.service(failed).await["state"], 3);
        caller.advance(1_000).await;
    }
    caller.advance(1_000).await;
    assert_eq!(caller.get(&format!("/service/{failed}")).await.status, 404);
}

#[tokio::test]
async fn in_a_straight_deployment_the_child_ends_before_its_parent() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"terminate_ms": 10_000})).await;
    let id = caller.start("Straight-Data", json!({})).await;
    caller.until(id, 2).await;
    assert_eq!(caller.delete(id).await.status, 204);
    let body = caller.service(id).await;
    assert_eq!((&body["roles"][0]["state"], &body["roles"][1]["state"]), (&json!(2), &json!(3)));
    caller.advance(10_500).await;
    let body = caller.service(id).await;
    assert_eq!((&body["roles"][0]["state"], &body["roles"][1]["state"]), (&json!(3), &json!(5)));
    caller.until_gone(id).await;
}

#[tokio::test]
async fn a_service_that_deploys_is_not_deleted_and_a_forced_delete_leaves_its_booting_machine() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"boot_ms": 60_000})).await;
    let id = caller.start("Function", json!({})).await;
    let vm = nodes(&caller.until(id, 1).await, 0)[0];
    caller.advance(1_000).await;
    assert_eq!(caller.machine(vm).await.codes(), ("3", "2"));
    let call_error = caller.delete(id).await;
    assert!(call_error.is(500, "Service cannot be undeployed in state: DEPLOYING"), "{}", call_error.text);
    let first = caller.recover_delete(id).await;
    assert!(first.is(500, STUCK), "{}", first.text);
    let body = caller.service(id).await;
    assert_eq!((&body["state"], nodes(&body, 0)), (&json!(6), vec![vm]));
    let lines = log(&body);
    let why = format!("E Role FAAS : Terminate failed for VM {vm}, will perform a Delete; [one.vm.action] ");
    assert!(lines[2].starts_with(&why), "{lines:?}");
    let why = "[one.vm.recover] User [2] : Not authorized to perform ADMIN VM";
    let why = format!("E Role FAAS : Delete failed for VM {vm}; {why} [{vm}].");
    assert_eq!(lines[3..], [why, "I New state: FAILED_UNDEPLOYING".to_owned()]);
    let call_error = caller.delete(id).await;
    assert!(
        call_error.is(500, "Service cannot be undeployed in state: FAILED_UNDEPLOYING"),
        "{}",
        call_error.text
    );
    let second = caller.recover_delete(id).await;
    assert!(second.is(204, ""), "{}", second.text);
    assert_eq!(caller.get(&format!("/service/{id}")).await.status, 404);
    caller.advance(60_000).await;
    assert!(caller.machine(vm).await.is_running());
    assert_eq!(caller.standing().await, [format!("oned/vm {vm}")]);
}

#[tokio::test]
async fn a_forced_delete_ends_what_runs_and_what_failed() {
    let caller = OneFlowClient::new().await;
    let running = caller.start("Function-Data", json!({})).await;
    caller.until(running, 2).await;
    let failed = caller.start("MissingVMT", json!({})).await;
    caller.until(failed, 7).await;
    let call_error = caller.delete(failed).await;
    assert!(
        call_error.is(500, "Service cannot be undeployed in state: FAILED_DEPLOYING"),
        "{}",
        call_error.text
    );
    for id in [running, failed] {
        assert!(caller.recover_delete(id).await.is(204, ""));
        caller.until_gone(id).await;
        assert_eq!(caller.recover_delete(id).await.status, 404);
    }
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn a_machine_that_failed_to_boot_is_ended_by_a_forced_delete() {
    let caller = OneFlowClient::new().await;
    let id = caller.start("BootFails", json!({})).await;
    caller.until(id, 1).await;
    caller.advance(10_000).await;
    assert!(caller.recover_delete(id).await.is(204, ""));
    caller.until_gone(id).await;
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn only_what_is_stuck_is_recovered() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"boot_ms": 60_000})).await;
    let deploying = caller.start("Function", json!({})).await;
    caller.until(deploying, 1).await;
    assert!(caller.act(deploying, json!({"perform": "recover"})).await.is(204, ""));
    assert_eq!(caller.service(deploying).await["state"], 1);
    caller.delay_times(json!({"boot_ms": 60})).await;
    let running = caller.start("Function", json!({})).await;
    caller.until(running, 2).await;
    let call_error = caller.act(running, json!({"perform": "recover"})).await;
    assert!(call_error.is(500, "Service cannot be recovered in state: RUNNING"), "{}", call_error.text);
    caller.faults("fails_deploying_now").await;
    let failed = caller.start("Function", json!({})).await;
    caller.until(failed, 7).await;
    assert_eq!(caller.act(failed, json!({"perform": "recover"})).await.status, 204);
    let body = caller.until(failed, 2).await;
    assert_eq!(nodes(&body, 0).len(), 1);
}
