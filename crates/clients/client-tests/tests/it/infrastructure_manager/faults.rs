//! What goes wrong in a controller and in front of it, on demand.

use std::time::Duration;

use ::infrastructure_manager::{
    AppliedChange, Creation, KymaResource, Patch, PatchedRuntime, Readiness, RuntimeResources, WriteMode,
    classify,
};
use client_tests::TestSandbox;
use http_client::DriverError;
use serde_json::json;

use super::{NAME, arm, create, provision, resources, runtime, standing};

const GRACE: Duration = Duration::from_secs(60);

fn change(version: &str) -> Patch {
    let spec = json!({"shoot": {"kubernetes": {"version": version}}});
    Patch { spec, ..Patch::default() }
}

#[tokio::test]
async fn a_failure_says_why_and_can_be_tried_again() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    let codes = ["ERR_INFRA_UNAUTHORIZED"];
    arm(&fixture, json!({"kind": "failed", "reason": "CreationErr", "message": "no right", "codes": codes}))
        .await;
    create(&resources, NAME).await;
    let failed = resources.get(NAME).await.unwrap().unwrap();
    let Readiness::Failed(why) = classify(&failed) else { panic!("{failed:?}") };
    assert!(why.starts_with("CreationErr: no right; ") && why.ends_with("[ERR_INFRA_UNAUTHORIZED]"), "{why}");
    let PatchedRuntime::Patched(forced) = resources.force_reconciliation(NAME).await.unwrap() else {
        panic!("it is there")
    };
    assert_eq!(forced.generation, failed.generation);
    let ready = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!(classify(&ready), Readiness::Ready);
    assert!(ready.annotations.is_empty());
    assert_eq!(standing(&fixture, "cluster").await, (1, 1));
}

#[tokio::test]
async fn a_reason_that_may_heal_is_waited_for() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    arm(
        &fixture,
        json!({"kind": "pending", "reason": "GardenerErr", "message": "quota", "lasts_ms": 60_000}),
    )
    .await;
    create(&resources, NAME).await;
    let pending = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!(classify(&pending), Readiness::Wait("GardenerErr: quota".to_owned()));
    fixture.post("/clock", &json!({"advance_ms": 60_000})).await;
    assert_eq!(classify(&resources.get(NAME).await.unwrap().unwrap()), Readiness::Ready);

    arm(&fixture, json!({"kind": "pending", "on": "update"})).await;
    resources.patch(NAME, &change("1.33.2"), WriteMode::Apply).await.unwrap();
    fixture.post("/clock", &json!({"advance_ms": 86_400_000})).await;
    let pending = resources.get(NAME).await.unwrap().unwrap();
    assert!(matches!(classify(&pending), Readiness::Wait(_)));
    assert!(pending.provisioning_completed);
}

#[tokio::test]
async fn a_stale_ready_is_not_taken_for_the_result() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    let before = provision(&resources, NAME).await;
    arm(&fixture, json!({"kind": "stale_ready", "lasts_ms": 30_000})).await;
    let PatchedRuntime::Patched(after) =
        resources.patch(NAME, &change("1.33.2"), WriteMode::Apply).await.unwrap()
    else {
        panic!("it is there")
    };
    let mut applied = AppliedChange::of(before.generation, &after).unwrap();
    let stale = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!(classify(&stale), Readiness::Ready);
    assert!(matches!(applied.classify(&stale, Duration::from_secs(1), GRACE), Readiness::Wait(_)));
    fixture.post("/clock", &json!({"advance_ms": 30_000})).await;
    let pending = resources.get(NAME).await.unwrap().unwrap();
    assert!(matches!(applied.classify(&pending, Duration::from_secs(30), GRACE), Readiness::Wait(_)));
    let ready = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!(applied.classify(&ready, Duration::from_secs(30), GRACE), Readiness::Ready);
}

#[tokio::test]
async fn another_writer_leads_to_a_conflict_and_loses_nothing() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    let read = provision(&resources, NAME).await;
    arm(&fixture, json!({"kind": "other_writer"})).await;
    let stale = Patch { resource_version: Some(read.resource_version), ..change("1.33.2") };
    assert_eq!(resources.patch(NAME, &stale, WriteMode::Apply).await.unwrap(), PatchedRuntime::Conflict);
    let read = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!((read.generation, read.annotations.len()), (1, 1));
    let fresh = Patch { resource_version: Some(read.resource_version), ..change("1.33.2") };
    let PatchedRuntime::Patched(after) = resources.patch(NAME, &fresh, WriteMode::Apply).await.unwrap()
    else {
        panic!("no other writer is left")
    };
    assert_eq!((after.generation, after.annotations.len()), (2, 1));
}

#[tokio::test]
async fn a_kubeconfig_that_is_replaced_is_absent_for_a_while() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "keb").await;
    provision(&resources, NAME).await;
    arm(&fixture, json!({"kind": "kubeconfig_rotating"})).await;
    assert!(resources.kubeconfig(NAME).await.unwrap().is_none());
    assert!(resources.kubeconfig(NAME).await.unwrap().is_some());
}

/// Changes the channel of the Kyma resource, as an operator could.
async fn change_channel(fixture: &TestSandbox) {
    let kubeconfig = fixture.client.get(fixture.url("/infrastructure-manager/kubeconfig"));
    let kubeconfig = kubeconfig.send().await.unwrap().text().await.unwrap();
    let token = kubeconfig.split("token: \"").nth(1).unwrap().trim().trim_end_matches('"');
    let path = "apis/operator.kyma-project.io/v1beta2/namespaces/kcp-system/kymas";
    let call = fixture.client.patch(fixture.url(&format!("/infrastructure-manager/{path}/{NAME}")));
    let call = call.bearer_auth(token).header("content-type", "application/merge-patch+json");
    let answer = call.body(json!({"spec": {"channel": "fast"}}).to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

/// Whatever was going on with the resource when its deletion began.
#[tokio::test]
async fn a_deletion_of_a_kyma_resource_that_hangs_is_ended_by_no_earlier_work() {
    for delay in ["kyma_ms", "take_up_ms"] {
        let fixture = TestSandbox::new().await;
        let resources = resources(&fixture, "admin").await;
        fixture.put("/infrastructure-manager/delays", &json!({"kyma_ms": 60_000})).await;
        let (name, spec) = (NAME.to_owned(), json!({"channel": "regular"}));
        let kyma = KymaResource { name, labels: [].into(), annotations: [].into(), spec };
        resources.apply_kyma(&kyma).await.unwrap();
        // Lifecycle Manager has begun: it has its finalizer.
        assert_eq!(resources.kyma(NAME).await.unwrap().unwrap().finalizers.len(), 1, "{delay}");
        if delay == "take_up_ms" {
            fixture.put("/infrastructure-manager/delays", &json!({delay: 60_000})).await;
            change_channel(&fixture).await;
        }
        arm(&fixture, json!({"kind": "kyma_deletion_hangs"})).await;
        resources.delete_kyma(NAME).await.unwrap();
        for _ in 0..4 {
            fixture.post("/clock", &json!({"advance_ms": 60_000})).await;
            let left = resources.kyma(NAME).await.unwrap();
            assert!(left.is_some_and(|left| left.deletion_timestamp.is_some()), "{delay}: it is gone");
        }
        assert_eq!(standing(&fixture, "kyma").await, (1, 1), "{delay}");
    }
}

#[tokio::test]
async fn a_creation_whose_answer_is_lost_makes_one_cluster() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    for (kind, status) in [("drop_after", None), ("drop_before", None), ("error", Some(504))] {
        let name = format!("lost-{}-{}", kind.replace('_', "-"), "0000001");
        let mut fault = json!({"kind": kind, "method": "POST"});
        if let Some(status) = status {
            fault["status"] = json!(status);
        }
        fixture.arm("infrastructure_manager", fault).await;
        let lost = resources.create(&runtime(&name), WriteMode::Apply).await.unwrap_err();
        assert!(!lost.is_final(), "{lost:?}");
        match resources.create(&runtime(&name), WriteMode::Apply).await.unwrap() {
            Creation::Exists(found) => assert!(found.belongs_to(&format!("instance-{name}"))),
            Creation::Created(_) => assert_ne!(kind, "drop_after"),
            Creation::DryRun => panic!("that was no dry run"),
        }
    }
    assert_eq!(standing(&fixture, "cluster").await, (3, 3));
}

#[tokio::test]
async fn a_server_that_starts_is_asked_again() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    fixture.arm("infrastructure_manager", json!({"kind": "error", "status": 403, "times": 2})).await;
    assert_eq!(resources.get(NAME).await.unwrap(), None);
    fixture.arm("infrastructure_manager", json!({"kind": "error", "status": 503, "retry_after_s": 5})).await;
    let error = resources.get(NAME).await.unwrap_err();
    assert!(matches!(error, DriverError::Throttled { retry_after, .. } if retry_after.as_secs() == 5));
}
