//! Everything that can go wrong inside OneFlow on demand.

use serde_json::json;

use super::caller::{OneFlowClient, log, nodes};

async fn running(caller: &OneFlowClient, template: &str) -> (i32, Vec<i32>) {
    let id = caller.start(template, json!({})).await;
    let body = caller.until(id, 2).await;
    let roles = 0..body["roles"].as_array().unwrap().len();
    (id, roles.flat_map(|role| nodes(&body, role)).collect())
}

#[tokio::test]
async fn nodes_can_be_late() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"delayed_nodes_ms": 60_000})).await;
    caller.faults("delayed_nodes").await;
    let id = caller.start("Function", json!({})).await;
    caller.advance(30_000).await;
    assert_eq!(caller.service(id).await["state"], 11);
    caller.advance(40_000).await;
    assert_eq!(caller.service(id).await["state"], 2);
}

#[tokio::test]
async fn nodes_can_stay_away_for_ever() {
    let caller = OneFlowClient::new().await;
    caller.faults("no_nodes").await;
    let id = caller.start("Function", json!({})).await;
    caller.advance(3_600_000).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["nodes"]), (&json!(11), &json!([])));
    let call_error = caller.delete(id).await;
    assert!(
        call_error.is(500, "Service cannot be undeployed in state: DEPLOYING_NETS"),
        "{}",
        call_error.text
    );
    assert_eq!(caller.recover_delete(id).await.status, 204);
    caller.until_gone(id).await;
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn a_service_can_have_failed_at_the_first_look() {
    let caller = OneFlowClient::new().await;
    caller.faults("fails_deploying_now").await;
    let id = caller.start("Function", json!({})).await;
    let body = caller.service(id).await;
    assert_eq!((&body["state"], &body["roles"][0]["nodes"]), (&json!(7), &json!([])));
    assert!(log(&body)[1].starts_with("E Role FAAS : Instantiate failed for template 0; "));
}

#[tokio::test]
async fn a_service_can_fail_after_it_has_nodes() {
    let caller = OneFlowClient::new().await;
    caller.faults("fails_deploying_later").await;
    let id = caller.start("Function", json!({})).await;
    caller.until(id, 1).await;
    let body = caller.until(id, 7).await;
    let vm = nodes(&body, 0)[0];
    assert!(log(&body).iter().any(|line| line.starts_with("E ")));
    caller.advance(60_000).await;
    assert_eq!(caller.service(id).await["state"], 7);
    assert!(caller.machine(vm).await.is_running());
    assert_eq!(caller.recover_delete(id).await.status, 204);
    caller.until_gone(id).await;
    assert_eq!(caller.standing().await, [""; 0]);
}

#[tokio::test]
async fn a_delete_can_be_refused_once() {
    let caller = OneFlowClient::new().await;
    let (id, vms) = running(&caller, "Function").await;
    caller.faults("delete_refused").await;
    let call_error = caller.delete(id).await;
    assert!(call_error.is(500, "Service cannot be undeployed in state: RUNNING"), "{}", call_error.text);
    assert!(caller.machine(vms[0]).await.is_running());
    assert_eq!(caller.delete(id).await.status, 204);
    caller.until_gone(id).await;
}

#[tokio::test]
async fn a_delete_can_be_accepted_and_fail_later() {
    let caller = OneFlowClient::new().await;
    let (id, vms) = running(&caller, "Function").await;
    caller.faults("undeploy_fails").await;
    assert_eq!(caller.delete(id).await.status, 204);
    let body = caller.until(id, 6).await;
    assert!(log(&body).iter().any(|line| line.starts_with("E Role FAAS : ")));
    assert!(caller.machine(vms[0]).await.is_running());
    // A role that could not be ended is not tried again.
    assert_eq!(caller.recover_delete(id).await.status, 204);
    caller.until_gone(id).await;
    assert_eq!(caller.standing().await, [format!("oned/vm {}", vms[0])]);
}

#[tokio::test]
async fn a_forced_delete_can_lie_once() {
    let caller = OneFlowClient::new().await;
    let (id, vms) = running(&caller, "Function").await;
    caller.faults("recover_delete_lies").await;
    assert_eq!(caller.recover_delete(id).await.status, 204);
    caller.advance(60_000).await;
    assert_eq!(caller.service(id).await["state"], 2);
    assert!(caller.machine(vms[0]).await.is_running());
    assert_eq!(caller.recover_delete(id).await.status, 204);
    caller.until_gone(id).await;
}

#[tokio::test]
async fn a_service_can_vanish_and_leave_its_machines() {
    let caller = OneFlowClient::new().await;
    let (id, vms) = running(&caller, "Function").await;
    caller.faults("service_vanishes").await;
    let gone = caller.get(&format!("/service/{id}")).await;
    assert!(gone.is(404, &format!("[one.document.info] Error getting document [{id}].")), "{}", gone.text);
    assert_eq!(caller.delete(id).await.status, 404);
    assert_eq!(caller.standing().await, [format!("oned/vm {}", vms[0])]);
}

#[tokio::test]
async fn a_deleted_service_can_forget_one_of_its_machines() {
    let caller = OneFlowClient::new().await;
    let (id, vms) = running(&caller, "Function-Data").await;
    caller.faults("forgets_vm").await;
    assert_eq!(caller.delete(id).await.status, 204);
    caller.until_gone(id).await;
    assert_eq!(caller.standing().await, [format!("oned/vm {}", vms[1])]);
    assert!(caller.machine(vms[1]).await.is_running());
}

#[tokio::test]
async fn calls_to_oneflow_can_be_hit_by_faults() {
    let caller = OneFlowClient::new().await;
    let fault = json!({"system": "oneflow", "kind": "error", "status": 503, "about": "service_template"});
    caller.control(reqwest::Method::POST, "/faults", fault).await;
    assert_eq!(caller.get("/service").await.status, 200);
    assert_eq!(caller.get("/service_template").await.status, 503);
    assert_eq!(caller.get("/service_template").await.status, 200);
    let lost = json!({"system": "oneflow", "kind": "drop_after", "about": "instantiate"});
    caller.control(reqwest::Method::POST, "/faults", lost).await;
    let url = format!("{}/service_template/0/action", caller.sandbox.oneflow_url());
    let request = caller.client.post(url).basic_auth("cognit", Some("cognitpass"));
    assert!(request.body(r#"{"action":{"perform":"instantiate"}}"#).send().await.is_err());
    let pool = caller.get("/service").await.json();
    assert_eq!(pool["DOCUMENT_POOL"]["DOCUMENT"].as_array().unwrap().len(), 1);
}
