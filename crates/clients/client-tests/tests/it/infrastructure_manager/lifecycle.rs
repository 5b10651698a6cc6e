//! Runtimes from their creation to their deletion, against the sandbox.

use std::time::Duration;

use ::infrastructure_manager::{
    AppliedChange, Creation, Deletion, KymaResource, KymaState, Patch, PatchedRuntime, Readiness,
    RuntimeResources, WriteMode,
};
use client_tests::{TIMEOUT, TestSandbox};
use kubernetes::{Clusters, HttpClusters};
use serde_json::{Value, json};

use super::{NAME, arm, create, provision, resources, runtime, standing};

const GRACE: Duration = Duration::from_secs(3600);

fn version(version: &str) -> Value {
    json!({"shoot": {"kubernetes": {"version": version}}})
}

async fn patched(
    resources: &dyn RuntimeResources,
    patch: &Patch,
) -> ::infrastructure_manager::ObservedRuntime {
    match resources.patch(NAME, patch, WriteMode::Apply).await.unwrap() {
        PatchedRuntime::Patched(found) => found,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_runtime_is_created_changed_and_deleted() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "admin").await;
    assert_eq!(resources.create(&runtime(NAME), WriteMode::DryRun).await.unwrap(), Creation::DryRun);
    assert_eq!(resources.get(NAME).await.unwrap(), None);
    assert!(resources.kubeconfig(NAME).await.unwrap().is_none());

    let created = create(&resources, NAME).await;
    assert_eq!((created.generation, &created.state), (1, &None));
    let Creation::Exists(found) = resources.create(&runtime(NAME), WriteMode::Apply).await.unwrap() else {
        panic!("it exists")
    };
    assert!(found.belongs_to(&format!("instance-{NAME}")) && found.uid == created.uid);
    let ready = resources.get(NAME).await.unwrap().unwrap();
    assert!(ready.provisioning_completed && !ready.finalizers.is_empty());
    assert_eq!(standing(&fixture, "cluster").await, (1, 1));

    let kubeconfig = resources.kubeconfig(NAME).await.unwrap().unwrap();
    let cluster = HttpClusters::new(TIMEOUT).open(&kubeconfig).unwrap();
    cluster.ensure_service_account("kyma-system", "kyma-binding-1").await.unwrap();

    let change = Patch {
        resource_version: Some(ready.resource_version.clone()),
        spec: version("1.33.2"),
        ..Patch::default()
    };
    assert_eq!(resources.patch(NAME, &change, WriteMode::DryRun).await.unwrap(), PatchedRuntime::DryRun);
    let after = patched(&resources, &change).await;
    assert_eq!((after.generation, after.uid.as_str()), (2, ready.uid.as_str()));
    let mut applied = AppliedChange::of(ready.generation, &after).unwrap();
    // Between the change and its result there is always another state to see.
    assert!(matches!(applied.classify(&after, Duration::ZERO, GRACE), Readiness::Wait(_)));
    let pending = resources.get(NAME).await.unwrap().unwrap();
    assert!(matches!(applied.classify(&pending, Duration::ZERO, GRACE), Readiness::Wait(_)));
    let ready = resources.get(NAME).await.unwrap().unwrap();
    assert_eq!(applied.classify(&ready, Duration::ZERO, GRACE), Readiness::Ready);
    assert_eq!(standing(&fixture, "upgrade").await.0, 1);
    assert_eq!(resources.patch(NAME, &change, WriteMode::Apply).await.unwrap(), PatchedRuntime::Conflict);

    let other = Some("11111111-2222-3333-4444-555555555555");
    assert_eq!(resources.delete(NAME, other, WriteMode::Apply).await.unwrap(), Deletion::OtherUid);
    assert_eq!(resources.delete(NAME, Some(&ready.uid), WriteMode::DryRun).await.unwrap(), Deletion::DryRun);
    assert!(resources.get(NAME).await.unwrap().unwrap().deletion_timestamp.is_none());
    let deleted = resources.delete(NAME, Some(&ready.uid), WriteMode::Apply).await.unwrap();
    assert!(matches!(deleted, Deletion::Waiting(found) if found.is_being_deleted()));
    assert_eq!(resources.get(NAME).await.unwrap(), None);
    assert!(resources.kubeconfig(NAME).await.unwrap().is_none());
    assert_eq!(resources.delete(NAME, Some(&ready.uid), WriteMode::Apply).await.unwrap(), Deletion::Gone);
    assert_eq!(standing(&fixture, "cluster").await, (1, 0));
}

#[tokio::test]
async fn without_the_right_to_patch_the_object_is_written_back_whole() {
    let fixture = TestSandbox::new().await;
    let keb = resources(&fixture, "keb").await;
    let ready = provision(&keb, NAME).await;
    let change = Patch {
        resource_version: Some(ready.resource_version.clone()),
        labels: [("a".to_owned(), Some("b".to_owned()))].into(),
        spec: version("1.33.2"),
        ..Patch::default()
    };
    let after = patched(&keb, &change).await;
    assert_eq!(after.finalizers, ready.finalizers);
    assert_eq!(after.labels.len(), ready.labels.len() + 1);
    assert_eq!(keb.patch(NAME, &change, WriteMode::Apply).await.unwrap(), PatchedRuntime::Conflict);
    let again = Patch { spec: version("1.33.3"), ..Patch::default() };
    assert_eq!(patched(&keb, &again).await.generation, 3);
    let absent = keb.patch("absent", &again, WriteMode::Apply).await.unwrap();
    assert_eq!(absent, PatchedRuntime::Absent);
    let admin = resources(&fixture, "admin").await;
    arm(&fixture, json!({"kind": "no_patch_right", "times": 0})).await;
    assert_eq!(patched(&admin, &Patch { spec: version("1.33.4"), ..Patch::default() }).await.generation, 4);
}

#[tokio::test]
async fn an_older_installation_is_sent_what_it_knows() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "keb").await;
    let all = resources.installed_schema().await.unwrap().unwrap();
    let mut wanted = runtime(NAME);
    wanted.spec["auditLogAccessEnabled"] = json!(true);
    wanted.spec["shoot"]["kubernetes"]["kubeAPIServer"] = json!({"acl": {"allowedCIDRs": ["10.0.0.0/8"]}});
    assert!(all.fit(&wanted.spec).left_out.is_empty());
    assert!(all.allows("spec.shoot.provider.type", "alicloud"));

    arm(&fixture, json!({"kind": "older_definition", "times": 0})).await;
    let error = resources.create(&wanted, WriteMode::Apply).await.unwrap_err();
    assert!(error.is_final() && error.to_string().contains("spec.auditLogAccessEnabled"), "{error}");
    let older = resources.installed_schema().await.unwrap().unwrap();
    let fitted = older.fit(&wanted.spec);
    assert_eq!(
        fitted.left_out,
        [
            "spec.auditLogAccessEnabled",
            "spec.shoot.enableNvidiaOpenshell",
            "spec.shoot.kubernetes.kubeAPIServer.acl",
            "spec.shoot.networking.dualStack",
        ]
    );
    assert!(!older.allows("spec.shoot.provider.type", "alicloud"));
    wanted.spec = fitted.spec;
    assert!(matches!(resources.create(&wanted, WriteMode::Apply).await.unwrap(), Creation::Created(_)));
}

#[tokio::test]
async fn the_kyma_resource_is_written_once_and_waited_for() {
    let fixture = TestSandbox::new().await;
    let resources = resources(&fixture, "keb").await;
    let kyma = |label: &str| KymaResource {
        name: NAME.to_owned(),
        labels: [("plan".to_owned(), label.to_owned())].into(),
        annotations: [("skr-domain".to_owned(), "example.com".to_owned())].into(),
        spec: json!({"channel": "regular", "modules": [{"name": "istio"}]}),
    };
    assert_eq!(resources.kyma(NAME).await.unwrap(), None);
    resources.apply_kyma(&kyma("aws")).await.unwrap();
    let ready = resources.kyma(NAME).await.unwrap().unwrap();
    assert_eq!(ready.state, Some(KymaState::Ready));
    let again = resources.apply_kyma(&kyma("azure")).await.unwrap();
    assert_eq!((again.uid, again.labels["plan"].as_str()), (ready.uid, "azure"));

    arm(&fixture, json!({"kind": "kyma_deletion_hangs"})).await;
    assert!(resources.delete_kyma(NAME).await.unwrap().is_some());
    let hanging = resources.kyma(NAME).await.unwrap().unwrap();
    assert!(hanging.deletion_timestamp.is_some());
    assert_eq!(hanging.leftovers(), ["module istio (Deleting)"]);
    assert_eq!(standing(&fixture, "kyma").await, (1, 1));

    let other = KymaResource { name: "other".into(), ..kyma("aws") };
    resources.apply_kyma(&other).await.unwrap();
    resources.kyma("other").await.unwrap();
    resources.delete_kyma("other").await.unwrap();
    assert_eq!(resources.kyma("other").await.unwrap(), None);
    assert_eq!(resources.delete_kyma("other").await.unwrap(), None);
}
