//! Taking a launch back, also while it is being made.

use cloud::{InstanceState, Provider};
use serde_json::json;

use super::fixture::{PROJECT, SandboxedGoogle, ZONE, account, place, request};

/// A bulk call goes on making instances while they are deleted. None of them may be left.
#[tokio::test]
async fn a_bulk_call_that_is_under_way_is_taken_back() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 5));
    let place = place(&account);
    fixture.world.put("/gcp/pace", &json!({ "create_ms": 60_000 })).await;
    fixture.google.create(&place, &request, "key").await.unwrap();
    let found = fixture.google.find(&place, &request).await.unwrap();
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|one| one.state == InstanceState::Pending), "{found:?}");
    let ids: Vec<String> = found.into_iter().map(|one| one.id).collect();
    for _ in 0..5 {
        fixture.google.delete(&place, &ids).await.unwrap();
        assert!(!fixture.google.find(&place, &request).await.unwrap().is_empty());
        fixture.pass(60_000).await;
    }
    fixture.take_back(&account, &request).await;
    assert_eq!(fixture.counts("instance").await, (5, 0));
    fixture.assert_standing(0).await;
    fixture.pass(60_000).await;
    fixture.assert_standing(0).await;
    assert_eq!(fixture.google.find(&place, &request).await.unwrap(), []);
}

#[tokio::test]
async fn an_instance_that_is_off_is_still_there_and_one_that_stays_is_deleted_again() {
    let fixture = SandboxedGoogle::new().await;
    let (account, request) = (account(), request("tag-1", 2));
    let place = place(&account);
    fixture.created(&account, &request, "key").await.unwrap();
    let name = fixture.instances().await[0]["name"].as_str().unwrap().to_owned();
    fixture.world.post(&format!("/gcp/instances/{PROJECT}/{ZONE}/{name}/poweroff"), &json!({})).await;
    let found = fixture.google.find(&place, &request).await.unwrap();
    assert_eq!(found.iter().filter(|one| one.state == InstanceState::Stopped).count(), 1);
    assert!(found.iter().all(|one| !one.state.is_gone()));
    fixture.fault("undeletable", json!({ "times": 2 })).await;
    fixture.fault("leave_disk", json!({ "times": 2 })).await;
    fixture.take_back(&account, &request).await;
    fixture.assert_standing(0).await;
}

#[tokio::test]
async fn disks_of_other_launches_are_left_alone() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let (one, other) = (request("tag-1", 1), request("tag-2", 1));
    fixture.fault("leave_disk", json!({ "times": 0 })).await;
    for request in [&one, &other] {
        fixture.created(&account, request, "key").await.unwrap();
    }
    fixture.take_back(&account, &one).await;
    let disks = fixture.world.get("/gcp/disks").await;
    let left = disks["disks"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["labels"]["provision-engine-launch"]), (1, &json!("tag-2")));
    // It is attached, so it is shown and not deleted.
    assert_eq!(fixture.google.sweep(&place(&account), &other).await.unwrap().len(), 1);
    fixture.pass(10_000).await;
    assert_eq!(fixture.counts("disk").await.1, 1);
}
