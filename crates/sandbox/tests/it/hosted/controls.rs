//! Trouble on demand.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, error_text, request};

#[tokio::test]
async fn a_build_fails_where_it_was_asked_to_with_nested_errors() {
    let caller = HostedClient::in_a_hurry().await;
    for (at, innermost) in [("building", "/details/0/details/0/reason"), ("uploading", "/details/0/reason")] {
        caller.turn("/image-builder/faults/fail", json!({"at": at}), StatusCode::CREATED).await;
        let id = caller.submit(&request()).await;
        let status = caller.status(&id).await;
        assert_eq!(
            (&status["status"], &status["upload_status"]["status"]),
            (&json!("failure"), &json!("failure"))
        );
        assert!(status["error"].pointer(innermost).is_some_and(Value::is_string), "{status}");
    }
    let error = json!({"id": 7, "reason": "my own"});
    let plan = json!({"at": "pending", "about": "web", "error": error});
    caller.turn("/image-builder/faults/fail", plan, StatusCode::CREATED).await;
    let mut other = request();
    other["image_name"] = json!("db");
    let spared = caller.submit(&other).await;
    let hit = caller.submit(&request()).await;
    assert_eq!(caller.status(&spared).await["status"], "success");
    assert_eq!(caller.status(&hit).await["error"], error);
    let next = caller.submit(&request()).await;
    assert_eq!(caller.status(&next).await["status"], "success");
}

#[tokio::test]
async fn a_held_build_stays_building_until_it_is_released() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/faults/hold", json!({}), StatusCode::CREATED).await;
    let id = caller.submit(&request()).await;
    caller.advance(10 * 24 * 3600 * 1000).await;
    assert_eq!(caller.status(&id).await["status"], "building");
    let release = format!("/image-builder/composes/{id}/release");
    caller.turn(&release, json!({}), StatusCode::NO_CONTENT).await;
    assert_eq!(caller.status(&id).await["status"], "success");
    caller.turn(&release, json!({}), StatusCode::NOT_FOUND).await;
}

#[tokio::test]
async fn a_lost_answer_leaves_a_build_behind() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/faults/lose", json!({}), StatusCode::CREATED).await;
    caller.builder(Method::POST, "/compose").json(&request()).send().await.unwrap_err();
    assert_eq!(caller.look("/image-builder/composes").await["composes"].as_array().unwrap().len(), 1);
    caller.submit(&request()).await;
    assert_eq!(caller.look("/image-builder/calls").await["calls"], json!({"POST /compose": 2}));
}

#[tokio::test]
async fn every_nth_call_fails_and_is_not_carried_out() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/errors", json!({"every": 2, "status": 502}), StatusCode::NO_CONTENT).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let call = caller.builder(Method::POST, "/compose").json(&request());
        statuses.push(call.send().await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [201, 502, 201, 502]);
    assert_eq!(caller.look("/ledger/summary").await["image_builder/compose"]["made"], 2);
    let reset = caller.request(Method::DELETE, "/image-builder/knobs").send().await.unwrap();
    assert_eq!(reset.status(), StatusCode::NO_CONTENT);
    caller.submit(&request()).await;
    caller.submit(&request()).await;
    assert_eq!(caller.look("/image-builder/knobs").await["traffic"]["errors"], Value::Null);
}

#[tokio::test]
async fn a_build_can_be_forgotten_and_can_keep_its_upload_to_itself() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/faults/no_upload", json!({}), StatusCode::CREATED).await;
    let id = caller.submit(&request()).await;
    let status = caller.status(&id).await;
    assert_eq!((&status["status"], status.get("upload_status")), (&json!("success"), None));
    caller.turn(&format!("/image-builder/composes/{id}/forget"), json!({}), StatusCode::NO_CONTENT).await;
    assert_eq!(error_text(caller.builder(Method::GET, &format!("/composes/{id}"))).await.0, 404);
    caller.turn(&format!("/image-builder/composes/{id}/remember"), json!({}), StatusCode::NO_CONTENT).await;
    assert_eq!(caller.status(&id).await["status"], "success");
}

#[tokio::test]
async fn scripted_faults_hit_all_hosted_services() {
    let caller = HostedClient::new().await;
    for (system, path) in [
        ("image_builder", "/api/image-builder/v1/composes"),
        ("sources", "/api/sources/v3.1/source_types"),
        ("rbac", "/api/rbac/v1/access/?application=provisioning"),
    ] {
        let fault = json!({"system": system, "kind": "error", "status": 503, "retry_after_s": 7});
        caller.turn("/faults", fault, StatusCode::CREATED).await;
        let statuses = [caller.call(Method::GET, path), caller.call(Method::GET, path)];
        let mut seen = Vec::new();
        for call in statuses {
            seen.push(call.send().await.unwrap().status().as_u16());
        }
        assert_eq!(seen, [503, 200], "{system}");
    }
}

#[tokio::test]
async fn nonsense_is_refused() {
    let caller = HostedClient::new().await;
    for (path, body) in [
        ("/image-builder/pace", json!({"colour": 1})),
        ("/image-builder/pace", json!({"building_ms": 86_400_001})),
        ("/image-builder/errors", json!({"every": 1, "status": 200})),
        ("/image-builder/latency", json!({"latency_ms": 60_001})),
        ("/image-builder/faults/fail", json!({"at": "success"})),
        ("/image-builder/faults/hold", json!({"at": "building"})),
        ("/image-builder/callbacks", json!({"url": "ftp://x"})),
        ("/image-builder/notify", json!({"copies": 101})),
    ] {
        caller.turn(path, body, StatusCode::BAD_REQUEST).await;
    }
}
