//! Bulk calls that fail: at once, inside their operation, or after some of their instances ran.

use std::time::Duration;

use cloud::{Category, CloudError, InstanceRequest, InstanceState, Provider};
use serde_json::json;

use super::fixture::{PROJECT, SandboxedGoogle, ZONE, account, ids, place, request};

const EXHAUSTED: &str = "ZONE_RESOURCE_POOL_EXHAUSTED";

#[tokio::test]
async fn late_capacity_leaves_nothing_and_the_next_key_makes_the_same_names() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 3));
    fixture.world.put("/gcp/capacity", &json!({ "instances": 2 })).await;
    let error = fixture.created(&account, &request, "key-0").await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Capacity, EXHAUSTED));
    fixture.assert_standing(0).await;
    // The same key stands for the same failure.
    let again = fixture.created(&account, &request, "key-0").await.unwrap_err();
    assert!(again.is(Category::Capacity), "{again}");
    fixture.world.put("/gcp/capacity", &json!({ "instances": null })).await;
    let created = fixture.created(&account, &request, "key-1").await.unwrap();
    assert_eq!((created.instances.len(), fixture.counts("instance").await), (3, (5, 3)));
    let names: Vec<String> =
        fixture.instances().await.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.iter().zip(1..).all(|(name, number)| name.ends_with(&format!("-0{number}"))), "{names:?}");
}

#[tokio::test]
async fn enough_instances_are_kept() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    fixture.fault("fail_inside", json!({ "code": EXHAUSTED, "after": 1 })).await;
    let some = InstanceRequest { least: 1, ..request("tag-1", 3) };
    let created = fixture.created(&account, &some, "key").await.unwrap();
    assert_eq!(created.instances.len(), 2);
    let again = fixture.created(&account, &some, "key").await.unwrap();
    assert_eq!(ids(&again.instances), ids(&created.instances));
    fixture.assert_standing(2).await;
}

/// Those that run are doomed as soon as one of them dies.
#[tokio::test]
async fn what_is_taken_back_is_never_taken_over() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 3));
    let place = place(&account);
    fixture.world.put("/gcp/pace", &json!({ "rollback_ms": 600_000 })).await;
    fixture.fault("die", json!({ "code": EXHAUSTED, "after": 2 })).await;
    let first = fixture.google.create(&place, &request, "key").await.unwrap();
    assert!(first.again.is_some());
    fixture.pass(1000).await;
    let running = fixture.google.find(&place, &request).await.unwrap();
    assert_eq!(running.iter().filter(|one| one.state == InstanceState::Running).count(), 2, "{running:?}");
    for _ in 0..3 {
        let created = fixture.google.create(&place, &request, "key").await.unwrap();
        assert!(created.again.is_some() && created.instances.is_empty(), "{created:?}");
    }
    fixture.pass(600_000).await;
    let error = fixture.created(&account, &request, "key").await.unwrap_err();
    assert!(error.is(Category::Capacity), "{error}");
    fixture.assert_standing(0).await;
}

#[tokio::test]
async fn a_disk_that_is_left_is_not_in_the_way_of_the_next_try() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 2));
    fixture.fault("leave_disk", json!({})).await;
    fixture.fault("fail_inside", json!({ "code": EXHAUSTED, "after": 1 })).await;
    let error = fixture.created(&account, &request, "key-0").await.unwrap_err();
    assert!(error.is(Category::Capacity), "{error}");
    fixture.assert_standing(0).await;
    fixture.created(&account, &request, "key-1").await.unwrap();
    fixture.assert_standing(2).await;
}

#[tokio::test]
async fn an_internal_error_of_the_cloud_heals_under_the_same_key() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 2));
    fixture.fault("fail_inside", json!({ "code": "INTERNAL_ERROR", "times": 2 })).await;
    let created = fixture.created(&account, &request, "key").await.unwrap();
    assert_eq!(created.instances.len(), 2);
    fixture.assert_standing(2).await;
    fixture.fault("fail_inside", json!({ "code": "INTERNAL_ERROR", "times": 0 })).await;
    let other = InstanceRequest { launch_tag: "tag-2".to_owned(), ..request };
    let error = fixture.created(&account, &other, "key").await.unwrap_err();
    assert!(error.is(Category::Upstream), "{error}");
    fixture.assert_standing(2).await;
}

#[tokio::test]
async fn what_is_refused_at_once_is_sorted() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let refused = async |fault: serde_json::Value| -> CloudError {
        fixture.fault("fail", fault).await;
        fixture.created(&account, &request("tag-1", 2), "key").await.unwrap_err()
    };
    let bulk = "instances.bulkInsert";
    for (status, code, category) in [
        (403, "rateLimitExceeded", Category::Throttle),
        (403, "quotaExceeded", Category::Quota),
        (403, "forbidden", Category::Permission),
        (503, "insufficientCapacity", Category::Capacity),
        (400, "invalid", Category::Invalid),
        (503, "backendError", Category::Upstream),
    ] {
        let error = refused(json!({"action": bulk, "status": status, "code": code})).await;
        assert_eq!((error.category, error.code.as_str()), (category, code));
    }
    fixture.world.put("/gcp/capacity", &json!({ "instances": 1, "at_once": true })).await;
    let error = fixture.created(&account, &request("tag-1", 2), "key").await.unwrap_err();
    assert!(error.is(Category::Capacity), "{error}");
    fixture.assert_standing(0).await;
    fixture.world.put("/gcp/capacity", &json!({ "instances": null })).await;
    fixture.created(&account, &request("tag-1", 2), "key").await.unwrap();
}

#[tokio::test]
async fn a_rate_is_full_again_after_a_minute() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 1));
    fixture.world.put("/gcp/rate", &json!({ "changes": 0, "reads": 1500, "bulks": 10 })).await;
    let error = fixture.created(&account, &request, "key").await.unwrap_err();
    assert_eq!((error.category, error.after), (Category::Throttle, Some(Duration::from_secs(60))));
    fixture.world.put("/gcp/rate", &json!({ "changes": 1500, "reads": 1500, "bulks": 0 })).await;
    let error = fixture.created(&account, &request, "key").await.unwrap_err();
    assert!(error.is(Category::Throttle) && error.message.contains("bulk"), "{error}");
    fixture.world.put("/gcp/rate", &json!({ "changes": 1, "reads": 1500, "bulks": 1 })).await;
    fixture.pass(60_000).await;
    fixture.created(&account, &request, "key").await.unwrap();
}

#[tokio::test]
async fn quotas_are_seen_before_and_inside() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let labels = json!({"provision-engine-org": "default"});
    fixture
        .world
        .put(&format!("/gcp/projects/{PROJECT}"), &json!({"labels": labels, "quotas": {"CPUS": 3}}))
        .await;
    let request = request("tag-1", 2);
    let error = fixture.google.dry_run(&place(&account), &request).await.unwrap_err();
    assert!(error.is(Category::Quota) && error.message.contains("CPUS of us-central1 is 3"), "{error}");
    let error = fixture.created(&account, &request, "key").await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Quota, "QUOTA_EXCEEDED"));
    fixture.assert_standing(0).await;
}

#[tokio::test]
async fn the_name_of_another_launch_is_left_alone() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 2));
    fixture.created(&account, &request, "key-0").await.unwrap();
    let name = fixture.instances().await[1]["name"].as_str().unwrap().to_owned();
    let path = format!("/gcp/instances/{PROJECT}/{ZONE}/{name}/labels");
    fixture.world.put(&path, &json!({"provision-engine-launch": "another"})).await;
    for key in ["key-0", "key-1"] {
        let error = fixture.created(&account, &request, key).await.unwrap_err();
        assert!(error.is(Category::Duplicate) && error.message.contains(&name), "{error}");
    }
    assert_eq!(fixture.google.find(&place(&account), &request).await.unwrap().len(), 1);
    assert_eq!(fixture.calls("instances.delete").await, 0);
    fixture.assert_standing(2).await;
}

#[tokio::test]
async fn a_launch_that_cannot_be_is_refused_before() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let refused = async |request: InstanceRequest| {
        let rehearsed = fixture.google.dry_run(&place(&account), &request).await.unwrap_err();
        (rehearsed.category, rehearsed.code)
    };
    let request = request("tag-1", 1);
    let set = async |project: serde_json::Value| {
        fixture.world.put(&format!("/gcp/projects/{PROJECT}"), &project).await;
    };
    let labels = json!({"provision-engine-org": "default"});
    set(json!({"labels": labels, "denied": ["compute.instances.delete", "compute.zoneOperations.list"]}))
        .await;
    let error = fixture.google.dry_run(&place(&account), &request).await.unwrap_err();
    assert!(error.message.contains("compute.instances.delete, compute.zoneOperations.list"), "{error}");
    set(json!({"labels": labels, "no_default_network": true, "subnetworks": ["lan"]})).await;
    assert_eq!(refused(request.clone()).await, (Category::Invalid, "NoDefaultNetwork".to_owned()));
    let with = |subnet: &str| InstanceRequest { subnet: Some(subnet.to_owned()), ..request.clone() };
    assert_eq!(refused(with("none")).await.0, Category::NotFound);
    fixture.google.dry_run(&place(&account), &with("lan")).await.unwrap();
    fixture.created(&account, &with("lan"), "key").await.unwrap();
    set(json!({"labels": labels, "api_off": true})).await;
    assert_eq!(refused(request.clone()).await.0, Category::Permission);
    set(json!({"labels": labels})).await;
    let odd = InstanceRequest { instance_type: Some("e9-none".to_owned()), ..request.clone() };
    assert_eq!(refused(odd).await.0, Category::NotFound);
    let image = json!({"project": "sandbox-images", "name": "composer-api-7", "shared_with": []});
    fixture.world.post("/gcp/images", &image).await;
    assert_eq!(refused(request.clone()).await, (Category::Permission, "ImageNotShared".to_owned()));
    let id = request.image.clone().unwrap();
    assert_eq!(fixture.google.image(&place(&account), &id).await.unwrap(), None);
    let image = json!({"project": "sandbox-images", "name": "composer-api-7", "expired": true});
    fixture.world.post("/gcp/images", &image).await;
    assert_eq!(refused(request).await.0, Category::NotFound);
    assert_eq!(fixture.google.image(&place(&account), &id).await.unwrap(), None);
}

/// The first operation is shown, the second one is not yet: its instances are no leftovers of the first.
#[tokio::test]
async fn a_later_call_that_lists_do_not_show_yet_is_not_cleaned_away() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 2));
    fixture.fault("fail_inside", json!({ "code": "INTERNAL_ERROR", "times": 2 })).await;
    fixture.world.put("/gcp/pace", &json!({ "visible_ms": 600_000, "create_ms": 60_000 })).await;
    let create = async || fixture.google.create(&place(&account), &request, "key").await;
    assert!(create().await.unwrap().again.is_some());
    fixture.pass(300_000).await;
    let error = create().await.unwrap_err();
    assert!(error.is(Category::Upstream), "{error}");
    fixture.pass(300_000).await;
    assert!(create().await.unwrap().again.is_some());
    fixture.pass(61_000).await;
    assert_eq!(fixture.counts("instance").await, (1, 1));
    assert!(create().await.unwrap().again.is_some());
    fixture.pass(600_000).await;
    assert_eq!(create().await.unwrap().instances.len(), 2);
    assert_eq!((fixture.calls("instances.delete").await, fixture.counts("instance").await), (0, (2, 2)));
}
