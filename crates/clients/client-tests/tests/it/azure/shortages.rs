//! Want of room, of quota and of patience.

use std::time::Duration;

use cloud::{Category, InstanceRequest, InstanceState, Provider};
use serde_json::json;

use super::fixture::{AzureFixture, in_named_group, is_soon, request};

/// Azure accepts the call and finds out minutes later that there is no room.
#[tokio::test]
async fn want_of_room_in_the_operation_is_capacity_and_leaves_the_names_free() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 3);
    fixture.shared.put("/azure/capacity", &json!({"location": "eastus", "instances": 2})).await;
    fixture.prepared(&request).await.unwrap();
    let error = fixture.created(&request).await.unwrap_err();
    assert!(error.is(Category::Capacity), "{error}");
    let world = fixture.azure.find(&fixture.place(), &request).await.unwrap();
    assert!(!world.iter().any(|instance| instance.state == InstanceState::Stopped), "{world:?}");
    // There is room again, and the next generation of the key finds the other two.
    fixture.shared.put("/azure/capacity", &json!({"location": "eastus", "instances": null})).await;
    assert_eq!(fixture.created(&request).await.unwrap().len(), 3);
    assert_eq!((fixture.made("vm").await, fixture.standing("vm").await), (4, 3));
    assert_eq!((fixture.standing("nic").await, fixture.standing("disk").await), (3, 3));
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
}

#[tokio::test]
async fn want_of_room_at_the_call_is_capacity() {
    let fixture = AzureFixture::new().await;
    let request = in_named_group("tag", 2);
    fixture.shared.put("/azure/capacity", &json!({"instances": 1, "at": "call"})).await;
    fixture.prepared(&request).await.unwrap();
    let error = fixture.created(&request).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Capacity, "AllocationFailed"));
    // The interface of the instance that was refused is reserved for it, and goes when that is over.
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
}

#[tokio::test]
async fn where_fewer_are_enough_the_others_are_removed() {
    for (at, least) in [("operation", 1), ("call", 1), ("operation", 2), ("call", 2)] {
        let fixture = AzureFixture::new().await;
        let request = InstanceRequest { least, ..in_named_group("tag", 3) };
        fixture.shared.put("/azure/capacity", &json!({"instances": 2, "at": at})).await;
        let instances = fixture.launched(&request).await;
        assert_eq!(instances.len(), 2, "{at} {least}");
        fixture.pass(1000).await;
        assert_eq!((fixture.standing("vm").await, fixture.standing("disk").await), (2, 2), "{at}");
        fixture.undone(&request).await;
        fixture.assert_nothing_stands().await;
    }
}

#[tokio::test]
async fn too_few_are_an_error_also_where_fewer_would_be_enough() {
    let fixture = AzureFixture::new().await;
    let request = InstanceRequest { least: 2, ..request("tag", 3) };
    fixture.shared.put("/azure/capacity", &json!({"instances": 1})).await;
    fixture.prepared(&request).await.unwrap();
    let error = fixture.created(&request).await.unwrap_err();
    assert!(error.is(Category::Capacity), "{error}");
}

#[tokio::test]
async fn any_instance_that_fails_in_its_operation_fails_the_launch() {
    for number in 0..3 {
        let fixture = AzureFixture::new().await;
        let request = request("tag", 3);
        let body =
            json!({"code": "VMExtensionProvisioningError", "message": "no", "about": format!("-0{number}")});
        fixture
            .fault("die", json!({"code": "InvalidParameter", "message": "no disk", "about": body["about"]}))
            .await;
        fixture.prepared(&request).await.unwrap();
        let error = fixture.created(&request).await.unwrap_err();
        assert_eq!(
            (error.category, error.code.as_str()),
            (Category::Invalid, "InvalidParameter"),
            "{number}"
        );
        // What failed exists and must be found, or it would never be deleted.
        let found = fixture.azure.find(&fixture.place(), &request).await.unwrap();
        assert!(
            found.iter().any(|one| one.reason.as_deref() == Some("InvalidParameter: no disk")),
            "{found:?}"
        );
        fixture.undone(&request).await;
        fixture.assert_nothing_stands().await;
    }
}

/// An internal error of Azure may heal: the instance is removed and made again.
#[tokio::test]
async fn an_internal_error_in_the_operation_is_tried_again() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 2);
    fixture.fault("die", json!({"code": "InternalExecutionError"})).await;
    fixture.prepared(&request).await.unwrap();
    let error = fixture.created(&request).await.unwrap_err();
    assert!(error.is(Category::Upstream), "{error}");
    assert_eq!(fixture.created(&request).await.unwrap().len(), 2);
    assert_eq!((fixture.made("vm").await, fixture.standing("vm").await), (3, 2));
}

#[tokio::test]
async fn a_guest_that_reports_too_late_runs_and_is_a_warning() {
    let fixture = AzureFixture::new().await;
    fixture.fault("os_timeout", json!({})).await;
    let instances = fixture.launched(&request("tag", 2)).await;
    assert_eq!(instances.len(), 2);
    assert!(instances.iter().all(|instance| instance.state == InstanceState::Running), "{instances:?}");
    let warned = instances.iter().filter(|instance| instance.reason.is_some());
    assert!(warned.clone().all(|one| one.reason.as_deref().unwrap().starts_with("OSProvisioningTimedOut")));
    assert_eq!(warned.count(), 1);
}

#[tokio::test]
async fn a_quota_is_told_before_the_launch_and_in_it() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 3);
    fixture.shared.put("/azure/quota", &json!({"family": "standardBSFamily", "vcpus": 2})).await;
    let error = fixture.azure.dry_run(&fixture.place(), &request).await.unwrap_err();
    assert!(error.is(Category::Quota) && error.message.contains("standardBSFamily"), "{error}");
    fixture.prepared(&request).await.unwrap();
    let error = fixture.created(&request).await.unwrap_err();
    assert!(error.is(Category::Quota), "{error}");
    let fewer = InstanceRequest { least: 1, ..request };
    assert_eq!(fixture.created(&fewer).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_throttled_launch_says_when_to_come_back_and_goes_on() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 3);
    fixture.shared.put("/azure/throttle", &json!({"every": 11, "retry_after_s": 2})).await;
    let (mut throttled, mut is_prepared) = (0, false);
    let made = loop {
        let result = if is_prepared {
            fixture.created(&request).await
        } else {
            fixture.prepared(&request).await.map(|()| Vec::new())
        };
        match result {
            Ok(instances) if is_prepared => break instances.len(),
            Ok(_) => is_prepared = true,
            Err(error) => {
                assert!(error.is(Category::Throttle) && is_soon(error.after), "{error:?}");
                assert_eq!(error.after, Some(Duration::from_secs(2)));
                throttled += 1;
                assert!(throttled < 100, "the launch does not end");
            }
        }
    };
    assert!(throttled > 0);
    assert_eq!((made, fixture.made("vm").await), (3, 3));
}

#[tokio::test]
async fn services_that_are_not_registered_are_registered() {
    let fixture = AzureFixture::new().await;
    fixture.shared.put("/azure/delegations", &json!({"orgs": ["default"], "registered": false})).await;
    fixture.azure.dry_run(&fixture.place(), &request("tag", 2)).await.unwrap();
    assert_eq!(fixture.launched(&request("tag", 2)).await.len(), 2);
}

/// A late call meets a group that is gone, and makes nothing in it.
#[tokio::test]
async fn a_group_that_vanishes_ends_the_launch() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 2);
    fixture.prepared(&request).await.unwrap();
    fixture.fault("vanish", json!({"method": "PUT", "resource": "vm"})).await;
    let error = fixture.created(&request).await.unwrap_err();
    assert!(error.is(Category::NotFound) || error.is(Category::Invalid), "{error}");
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
}
