//! Client tokens: the same order brings the same instances, however often it is sent.

use reqwest::Method;
use serde_json::json;

use super::caller::{Caller, OTHER, Somebody};

#[tokio::test]
async fn the_same_order_with_the_same_token_brings_the_same_instances() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let order = [("ClientToken", "launch-1"), ("MinCount", "2"), ("MaxCount", "2")];
    let first = somebody.run(&order).await.done();
    caller.advance(60_000).await;
    let second = somebody.run(&order).await.done();
    assert_eq!(first.texts("instanceId"), second.texts("instanceId"));
    assert_eq!(first.text("reservationId"), second.text("reservationId"));
    assert!(second.body.contains("<name>running</name>"), "{}", second.body);
    assert_eq!((caller.standing("instance").await, second.texts("clientToken").len()), (2, 2));
    let found = somebody
        .call("DescribeInstances", &[("Filter.1.Name", "client-token"), ("Filter.1.Value.1", "launch-1")])
        .await;
    assert_eq!(found.done().texts("instanceId"), first.texts("instanceId"));
    // Somebody else who takes the same role is the same account.
    assert_eq!(caller.somebody().await.launched(&order).await, first.texts("instanceId"));
}

#[tokio::test]
async fn another_order_with_the_same_token_is_refused() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    somebody.run(&[("ClientToken", "t")]).await.done();
    for other in [("InstanceType", "t3.small"), ("SubnetId", "subnet-1"), ("UserData", "eA==")] {
        let answer = somebody.run(&[("ClientToken", "t"), other]).await;
        assert_eq!(answer.code(), (400, "IdempotentParameterMismatch".into()), "{other:?}");
    }
    assert_eq!(caller.standing("instance").await, 1);
    somebody.run(&[("ClientToken", "u")]).await.done();
    somebody.run(&[]).await.done();
    somebody.run(&[]).await.done();
    assert_eq!(caller.standing("instance").await, 4);
}

#[tokio::test]
async fn the_token_of_a_terminated_instance_is_used_up() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let order = [("ClientToken", "t"), ("MaxCount", "2")];
    let ids = somebody.launched(&order).await;
    somebody.terminate(&[&ids[0]]).await.done();
    let used_up = (400, "IdempotentInstanceTerminated".to_owned());
    assert_eq!(somebody.run(&order).await.code(), used_up);
    // Also long after nobody can see the instance any more.
    caller.advance(3 * 3_600_000).await;
    let somebody = caller.somebody().await;
    assert_eq!(somebody.describe(&ids[0]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(somebody.run(&order).await.code(), used_up);
    let other = somebody.run(&[("ClientToken", "t")]).await;
    assert_eq!(other.code(), (400, "IdempotentParameterMismatch".into()));
}

#[tokio::test]
async fn a_token_belongs_to_an_account_and_a_region() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    let order = [("ClientToken", "t")];
    let here = somebody.launched(&order).await;
    let elsewhere = Somebody { region: "us-east-1", ..somebody.clone() };
    assert_ne!(elsewhere.launched(&order).await, here);
    let stranger = caller.role(OTHER, "launcher").await;
    assert_ne!(stranger.launched(&order).await, here);
    assert_eq!(stranger.describe(&here[0]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(elsewhere.terminate(&[&here[0]]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(caller.standing("instance").await, 3);
    let long = "x".repeat(65);
    let answer = somebody.run(&[("ClientToken", &long)]).await;
    assert_eq!(answer.code(), (400, "InvalidParameterValue".into()));
}

#[tokio::test]
async fn a_replay_does_not_need_what_the_first_order_needed() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    somebody.import("key", super::keys::ED25519, "m").await.done();
    let order = [("ClientToken", "t"), ("KeyName", "key")];
    let ids = somebody.launched(&order).await;
    somebody.call("DeleteKeyPair", &[("KeyName", "key")]).await.done();
    assert_eq!(somebody.launched(&order).await, ids);
}

#[tokio::test]
async fn a_cloud_may_ignore_tokens() {
    let caller = Caller::slow().await;
    caller.knob(Method::PUT, "tokens", json!({"ignored": true})).await;
    let somebody = caller.somebody().await;
    let order = [("ClientToken", "t"), ("MinCount", "2"), ("MaxCount", "2")];
    let (first, second) = (somebody.launched(&order).await, somebody.launched(&order).await);
    assert!(first.iter().all(|id| !second.contains(id)));
    assert_eq!(caller.standing("instance").await, 4);
}
