//! The end of launches that were cut short, in all of their stages.

use cloud::{Category, PartKind, Provider};
use serde_json::json;

use super::fixture::{AzureFixture, in_named_group, request};

/// A launch that failed at any call leaves nothing, in a group of its own and in the customer's.
#[tokio::test]
async fn a_launch_that_was_cut_short_anywhere_leaves_nothing() {
    for kind in ["nsg", "network", "public_ip", "nic", "vm"] {
        for request in [request("tag", 3), in_named_group("tag", 3)] {
            let fixture = AzureFixture::new().await;
            let after = u32::from(!matches!(kind, "nsg" | "network"));
            let fault = json!({"method": "PUT", "resource": kind, "code": "InvalidParameter", "status": 400, "after": after});
            fixture.fault("fail", fault).await;
            let result = match fixture.prepared(&request).await {
                Ok(()) => fixture.created(&request).await.map(drop),
                Err(error) => Err(error),
            };
            assert_eq!(result.unwrap_err().code, "InvalidParameter", "{kind}");
            fixture.undone(&request).await;
            fixture.assert_nothing_stands().await;
        }
    }
}

/// Each level goes only when the one before it is gone.
#[tokio::test]
async fn in_a_named_group_the_parts_go_in_order() {
    let fixture = AzureFixture::new().await;
    let request = in_named_group("tag", 2);
    fixture
        .fault("fail", json!({"method": "PUT", "resource": "vm", "code": "InvalidParameter", "status": 400}))
        .await;
    fixture.prepared(&request).await.unwrap();
    fixture.created(&request).await.unwrap_err();
    let mut seen: Vec<PartKind> = Vec::new();
    for _ in 0..100 {
        let found = fixture.azure.find(&fixture.place(), &request).await.unwrap();
        let ids: Vec<String> = found.into_iter().map(|instance| instance.id).collect();
        fixture.azure.delete(&fixture.place(), &ids).await.unwrap();
        let left = fixture.swept(&request).await;
        seen.extend(left.iter().map(|part| part.kind));
        if left.is_empty() && ids.is_empty() {
            break;
        }
        fixture.pass(1000).await;
    }
    seen.dedup();
    assert_eq!(
        seen,
        [PartKind::Nic, PartKind::PublicIp, PartKind::Network, PartKind::SecurityGroup],
        "{seen:?}"
    );
    fixture.assert_nothing_stands().await;
}

/// An instance that lives keeps its network, whatever calls for the end of it.
#[tokio::test]
async fn what_an_instance_needs_stays() {
    for request in [request("tag", 2), in_named_group("tag", 2)] {
        let fixture = AzureFixture::new().await;
        let instances = fixture.launched(&request).await;
        fixture.azure.delete(&fixture.place(), &[instances[0].id.clone()]).await.unwrap();
        fixture.pass(1000).await;
        fixture.swept(&request).await;
        fixture.pass(1000).await;
        let left = fixture.azure.describe(&fixture.place(), &[instances[1].id.clone()]).await.unwrap();
        assert!(left[0].public_ipv4.is_some(), "{left:?}");
        for kind in ["vm", "nic", "public_ip", "disk", "network", "nsg"] {
            assert_eq!(fixture.standing(kind).await, 1, "{kind}");
        }
        fixture.undone(&request).await;
        fixture.assert_nothing_stands().await;
    }
}

#[tokio::test]
async fn what_is_not_of_the_launch_is_left_alone() {
    let fixture = AzureFixture::new().await;
    let (one, other) = (in_named_group("one", 2), in_named_group("other", 2));
    fixture.launched(&one).await;
    fixture.launched(&other).await;
    fixture.undone(&one).await;
    assert_eq!((fixture.standing("vm").await, fixture.standing("network").await), (2, 1));
    assert_eq!(fixture.azure.find(&fixture.place(), &other).await.unwrap().len(), 2);
}

/// A lock is a person's decision: the sweep says so and does not go round in circles.
#[tokio::test]
async fn a_lock_is_told_as_it_is() {
    let fixture = AzureFixture::new().await;
    let request = request("tag", 1);
    fixture.launched(&request).await;
    fixture.shared.put("/azure/rules", &json!({"locked": ["group"]})).await;
    let instances = fixture.azure.find(&fixture.place(), &request).await.unwrap();
    fixture.azure.delete(&fixture.place(), &[instances[0].id.clone()]).await.unwrap();
    fixture.pass(1000).await;
    let error = fixture.azure.sweep(&fixture.place(), &request).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "ScopeLocked"));
    fixture.shared.put("/azure/rules", &json!({})).await;
    fixture.undone(&request).await;
    fixture.assert_nothing_stands().await;
}

/// Answers that get lost while deleting cost another look, and nothing else.
#[tokio::test]
async fn lost_answers_while_deleting_are_no_harm() {
    let fixture = AzureFixture::new().await;
    let request = in_named_group("tag", 2);
    fixture.launched(&request).await;
    for kind in ["vm", "network", "nsg"] {
        fixture.fault("lose", json!({"method": "DELETE", "resource": kind})).await;
    }
    for _ in 0..10 {
        let found = fixture.azure.find(&fixture.place(), &request).await.unwrap();
        let ids: Vec<String> = found.into_iter().map(|instance| instance.id).collect();
        drop(fixture.azure.delete(&fixture.place(), &ids).await);
        drop(fixture.azure.sweep(&fixture.place(), &request).await);
        fixture.pass(1000).await;
    }
    assert!(fixture.swept(&request).await.is_empty());
    fixture.assert_nothing_stands().await;
}
