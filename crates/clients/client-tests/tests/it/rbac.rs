//! RBAC's driver against the sandbox, and against external systems that no decent server would be.

use api::Permission;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use client_tests::{TIMEOUT, TestSandbox, answering};
use http_client::DriverError;
use rbac::Rbac;
use serde_json::{Value, json};

fn rbac(fixture: &TestSandbox) -> Rbac {
    Rbac::new(&fixture.url("/api/rbac/v1"), TIMEOUT).unwrap()
}

fn ada() -> String {
    let identity = json!({"type": "User", "org_id": "org-1", "user": {"username": "ada"}});
    STANDARD.encode(json!({ "identity": identity }).to_string())
}

async fn grant(fixture: &TestSandbox, permissions: Vec<String>) {
    fixture.put("/rbac/users/ada", &json!({ "permissions": permissions })).await;
}

#[tokio::test]
async fn the_permissions_of_the_caller_decide() {
    let fixture = TestSandbox::new().await;
    let rbac = rbac(&fixture);
    rbac.ready(&ada()).await.unwrap();
    let all = rbac.permissions(&ada()).await.unwrap();
    assert!(all.iter().any(|one| one.allows("reservation.aws", "write")));
    let granted =
        ["provisioning:pubkey:read", "provisioning:reservation:*", "provisioning:broken", "inventory:*:*"];
    grant(&fixture, granted.map(str::to_owned).into()).await;
    let some = rbac.permissions(&ada()).await.unwrap();
    assert_eq!(some.len(), 2);
    let allows = |resource, verb| some.iter().any(|one: &Permission| one.allows(resource, verb));
    assert!(allows("pubkey", "read") && allows("reservation", "write"));
    assert!(!allows("pubkey", "write") && !allows("reservation.aws", "write"));
}

#[tokio::test]
async fn a_grant_that_is_limited_to_single_objects_is_no_grant_for_all_of_them() {
    let fixture = TestSandbox::new().await;
    let rights = json!({"permissions": ["provisioning:pubkey:read"], "limited": ["provisioning:*:*"]});
    fixture.put("/rbac/users/ada", &rights).await;
    let granted = rbac(&fixture).permissions(&ada()).await.unwrap();
    assert_eq!(granted.iter().map(ToString::to_string).collect::<Vec<_>>(), ["provisioning:pubkey:read"]);
}

#[tokio::test]
async fn ten_pages_are_read_and_no_more() {
    let fixture = TestSandbox::new().await;
    grant(&fixture, (0..5600).map(|number| format!("provisioning:r{number}:read")).collect()).await;
    let all = rbac(&fixture).permissions(&ada()).await.unwrap();
    assert_eq!((all.len(), all[4999].resource.as_str()), (5000, "r4999"));
    grant(&fixture, (0..600).map(|number| format!("provisioning:r{number}:read")).collect()).await;
    assert_eq!(rbac(&fixture).permissions(&ada()).await.unwrap().len(), 600);
}

#[tokio::test]
async fn errors_are_sorted() {
    let fixture = TestSandbox::new().await;
    let rbac = rbac(&fixture);
    let arm = async |fault: Value| fixture.arm("rbac", fault).await;
    arm(json!({"kind": "error", "status": 500})).await;
    assert!(matches!(rbac.permissions(&ada()).await, Err(DriverError::Broken { .. })));
    arm(json!({"kind": "garbage"})).await;
    assert!(matches!(rbac.permissions(&ada()).await, Err(DriverError::Broken { .. })));
    arm(json!({"kind": "drop_before"})).await;
    assert!(matches!(rbac.permissions(&ada()).await, Err(DriverError::Unreachable { .. })));
    arm(json!({"kind": "error", "status": 503, "retry_after_s": 4})).await;
    assert!(matches!(rbac.permissions(&ada()).await, Err(DriverError::Throttled { .. })));
    let error = rbac.permissions("unknown").await.unwrap_err();
    assert_eq!(error.to_string(), "rbac refused: the header x-rh-identity is not base64");
    assert!(matches!(rbac.permissions("a\nb").await, Err(DriverError::Refused { .. })));
}

#[tokio::test]
async fn answers_that_cannot_be_read_are_broken() {
    for body in ["", "{}", "[]", r#"{"data":[{"verb":"read"}]}"#] {
        let rbac = Rbac::new(&answering(200, body).await, TIMEOUT).unwrap();
        let error = rbac.permissions(&ada()).await.unwrap_err();
        assert!(matches!(error, DriverError::Broken { .. }), "{body}: {error:?}");
    }
}
