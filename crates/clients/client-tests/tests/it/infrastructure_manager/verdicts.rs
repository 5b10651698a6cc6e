//! What each state and reason means for a step that waits.

use ::infrastructure_manager::{ObservedRuntime, Readiness, classify};
use serde_json::{Value, json};

fn observed(state: Option<&str>, reason: &str, status: &str, metadata: &Value) -> ObservedRuntime {
    let mut object = json!({"metadata": {"name": "r", "uid": "u", "resourceVersion": "1", "generation": 1}});
    ::infrastructure_manager::merge(&mut object["metadata"], metadata);
    if let Some(state) = state {
        let condition = json!({"type": "Provisioned", "reason": reason, "status": status, "message": "why"});
        object["status"] = json!({"state": state, "conditions": [condition]});
    }
    serde_json::from_value(object).unwrap()
}

#[test]
fn every_reason_is_ready_or_waited_for_or_final() {
    let of = |state, reason, status| classify(&observed(Some(state), reason, status, &json!({})));
    for reason in [
        "ConversionErr",
        "SeedNotFound",
        "AuditLogErr",
        "CustomAuditLogErr",
        "OidcConfigurationErr",
        "KubernetesErr",
        "CreationErr",
        "ProcessingErr",
        "AReasonOfALaterRelease",
    ] {
        assert_eq!(of("Failed", reason, "False"), Readiness::Failed(format!("{reason}: why")));
        // The same reason with another state is tried again.
        assert_eq!(of("Pending", reason, "False"), Readiness::Wait(format!("{reason}: why")));
    }
    for reason in [
        "Initialised",
        "Processing",
        "GardenerErr",
        "ShootCreationCompleted",
        "KymaSystemNSCreated",
        "RuntimeBootstrapperReady",
        "OidcAndConfigMapConfigured",
        "ConfigurationCompleted",
    ] {
        for status in ["Unknown", "True", "False"] {
            assert_eq!(of("Pending", reason, status), Readiness::Wait(format!("{reason}: why")));
        }
    }
    assert_eq!(of("Ready", "AdministratorsConfigured", "True"), Readiness::Ready);
    assert_eq!(of("Terminating", "GardenerErr", "False"), Readiness::BeingDeleted);
    assert!(matches!(of("Hibernated", "x", "True"), Readiness::Wait(why) if why.contains("Hibernated")));
    assert!(matches!(classify(&observed(None, "", "", &json!({}))), Readiness::Wait(_)));
    // While it is deleted, its state says what it was before, or Failed for a while.
    let deleted = json!({"deletionTimestamp": "2026-11-17T03:52:18Z"});
    for state in ["Ready", "Failed", "Pending", "Terminating"] {
        let found = classify(&observed(Some(state), "x", "False", &deleted));
        assert_eq!(found, Readiness::BeingDeleted, "{state}");
    }
}

#[test]
fn a_failure_says_what_the_shoot_said() {
    let object = json!({
        "metadata": {"name": "r"},
        "status": {
            "state": "Failed",
            "conditions": [
                {"type": "Provisioned", "status": "False", "reason": "CreationErr", "message": "old"},
                {"type": "Provisioned", "status": "False", "reason": "ProcessingErr", "message": "shoot patch rejected"},
                {"type": "KubeconfigReady", "status": "True", "reason": "GardenerClusterReady", "message": "ok"},
            ],
            "shootLastOperation": {"type": "Reconcile", "state": "Failed", "progress": 47, "description": "failed"},
            "shootLastErrors": [
                {"description": "quota exceeded", "codes": ["ERR_INFRA_QUOTA_EXCEEDED"]},
                {"description": "another"},
            ],
        },
    });
    let found: ObservedRuntime = serde_json::from_value(object).unwrap();
    let expect = "ProcessingErr: shoot patch rejected; shoot Reconcile Failed 47 % (failed); quota exceeded \
                  [ERR_INFRA_QUOTA_EXCEEDED]; another";
    assert_eq!(classify(&found), Readiness::Failed(expect.to_owned()));
}
