//! Client tokens: the same order brings the same instances, however often it is sent.

use reqwest::Method;
use serde_json::json;

use super::caller::{AwsClient, OTHER, SignedClient};

#[tokio::test]
async fn the_same_order_with_the_same_token_brings_the_same_instances() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let instance_request = [("ClientToken", "launch-1"), ("MinCount", "2"), ("MaxCount", "2")];
    let first = signed_client.run(&instance_request).await.done();
    caller.advance(60_000).await;
    let second = signed_client.run(&instance_request).await.done();
    assert_eq!(first.texts("instanceId"), second.texts("instanceId"));
    assert_eq!(first.text("reservationId"), second.text("reservationId"));
    assert!(second.body.contains("<name>running</name>"), "{}", second.body);
    assert_eq!((caller.standing("instance").await, second.texts("clientToken").len()), (2, 2));
    let found = signed_client
        .call("DescribeInstances", &[("Filter.1.Name", "client-token"), ("Filter.1.Value.1", "launch-1")])
        .await;
    assert_eq!(found.done().texts("instanceId"), first.texts("instanceId"));
    // Another client who takes the same role is the same account.
    assert_eq!(caller.signed_client().await.launched(&instance_request).await, first.texts("instanceId"));
}

#[tokio::test]
async fn another_order_with_the_same_token_is_refused() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    signed_client.run(&[("ClientToken", "t")]).await.done();
    for other in [("InstanceType", "t3.small"), ("SubnetId", "subnet-1"), ("UserData", "eA==")] {
        let answer = signed_client.run(&[("ClientToken", "t"), other]).await;
        assert_eq!(answer.code(), (400, "IdempotentParameterMismatch".into()), "{other:?}");
    }
    assert_eq!(caller.standing("instance").await, 1);
    signed_client.run(&[("ClientToken", "u")]).await.done();
    signed_client.run(&[]).await.done();
    signed_client.run(&[]).await.done();
    assert_eq!(caller.standing("instance").await, 4);
}

#[tokio::test]
async fn the_token_of_a_terminated_instance_is_used_up() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let instance_request = [("ClientToken", "t"), ("MaxCount", "2")];
    let ids = signed_client.launched(&instance_request).await;
    signed_client.terminate(&[&ids[0]]).await.done();
    let used_up = (400, "IdempotentInstanceTerminated".to_owned());
    assert_eq!(signed_client.run(&instance_request).await.code(), used_up);
    // Also long after the instance was deleted.
    caller.advance(3 * 3_600_000).await;
    let signed_client = caller.signed_client().await;
    assert_eq!(signed_client.describe(&ids[0]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(signed_client.run(&instance_request).await.code(), used_up);
    let other = signed_client.run(&[("ClientToken", "t")]).await;
    assert_eq!(other.code(), (400, "IdempotentParameterMismatch".into()));
}

#[tokio::test]
async fn a_token_belongs_to_an_account_and_a_region() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let instance_request = [("ClientToken", "t")];
    let here = signed_client.launched(&instance_request).await;
    let elsewhere = SignedClient { region: "us-east-1", ..signed_client.clone() };
    assert_ne!(elsewhere.launched(&instance_request).await, here);
    let outsider = caller.role(OTHER, "launcher").await;
    assert_ne!(outsider.launched(&instance_request).await, here);
    assert_eq!(outsider.describe(&here[0]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(elsewhere.terminate(&[&here[0]]).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(caller.standing("instance").await, 3);
    let long = "x".repeat(65);
    let answer = signed_client.run(&[("ClientToken", &long)]).await;
    assert_eq!(answer.code(), (400, "InvalidParameterValue".into()));
}

#[tokio::test]
async fn a_replay_does_not_need_what_the_first_order_needed() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    signed_client.import("key", super::keys::ED25519, "m").await.done();
    let instance_request = [("ClientToken", "t"), ("KeyName", "key")];
    let ids = signed_client.launched(&instance_request).await;
    signed_client.call("DeleteKeyPair", &[("KeyName", "key")]).await.done();
    assert_eq!(signed_client.launched(&instance_request).await, ids);
}

#[tokio::test]
async fn a_cloud_may_ignore_tokens() {
    let caller = AwsClient::slow().await;
    caller.control(Method::PUT, "tokens", json!({"ignored": true})).await;
    let signed_client = caller.signed_client().await;
    let instance_request = [("ClientToken", "t"), ("MinCount", "2"), ("MaxCount", "2")];
    let (first, second) =
        (signed_client.launched(&instance_request).await, signed_client.launched(&instance_request).await);
    assert!(first.iter().all(|id| !second.contains(id)));
    assert_eq!(caller.standing("instance").await, 4);
}
