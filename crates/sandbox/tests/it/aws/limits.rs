//! Room and quotas: enough are made, or none.

use reqwest::Method;
use serde_json::json;

use super::caller::{ACCOUNT, AwsClient, OTHER, REGION, SignedClient};

#[tokio::test]
async fn as_many_are_made_as_fit_if_they_are_enough() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::PUT, "capacity", json!({"instances": 3})).await;
    let instance_request = |least, most| [("MinCount", least), ("MaxCount", most), ("ClientToken", "t")];
    let full = (500, "InsufficientInstanceCapacity".to_owned());
    assert_eq!(signed_client.run(&instance_request("4", "4")).await.code(), full);
    assert_eq!(caller.standing("instance").await, 0);
    // A refused order leaves its token free.
    let ids = signed_client.launched(&instance_request("2", "5")).await;
    assert_eq!(ids.len(), 3);
    assert_eq!(signed_client.launched(&instance_request("2", "5")).await, ids);
    assert_eq!(signed_client.run(&[]).await.code(), full);
    // A rehearsal does not ask for room.
    assert_eq!(signed_client.run(&[("DryRun", "true")]).await.code(), (412, "DryRunOperation".into()));
    signed_client.terminate(&[&ids[0]]).await.done();
    signed_client.run(&[]).await.done();
    assert_eq!(signed_client.run(&[]).await.code(), full);
    caller.control(Method::PUT, "capacity", json!({"instances": null})).await;
    signed_client.run(&[("MinCount", "9"), ("MaxCount", "9")]).await.done();
}

#[tokio::test]
async fn room_can_be_short_for_one_type_in_one_region() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let none = json!({"instances": 0, "region": REGION, "instance_type": "t3.micro"});
    caller.control(Method::PUT, "capacity", none).await;
    assert_eq!(signed_client.run(&[]).await.code(), (500, "InsufficientInstanceCapacity".into()));
    signed_client.run(&[("InstanceType", "t3.small")]).await.done();
    SignedClient { region: "us-east-1", ..signed_client.clone() }.run(&[]).await.done();
    let shown = caller.get("/aws/capacity").await;
    assert_eq!(shown["capacity"][0]["instances"], 0);
}

#[tokio::test]
async fn an_account_has_a_quota_of_virtual_cpus_in_each_region() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::PUT, "quota", json!({"account": ACCOUNT, "vcpus": 9})).await;
    let over = (400, "VcpuLimitExceeded".to_owned());
    let large = ("InstanceType", "m5.xlarge");
    assert_eq!(signed_client.run(&[large, ("MinCount", "3"), ("MaxCount", "3")]).await.code(), over);
    let ids = signed_client.launched(&[large, ("MinCount", "1"), ("MaxCount", "3")]).await;
    assert_eq!(ids.len(), 2);
    assert_eq!(signed_client.run(&[]).await.code(), over);
    SignedClient { region: "us-east-1", ..signed_client.clone() }.run(&[]).await.done();
    caller.role(OTHER, "launcher").await.run(&[]).await.done();
    signed_client.terminate(&[&ids[0]]).await.done();
    signed_client.run(&[]).await.done();
    caller.control(Method::PUT, "quota", json!({"vcpus": 0})).await;
    assert_eq!(caller.role(OTHER, "launcher").await.run(&[]).await.code(), over);
    let shown = caller.get("/aws/quota").await;
    assert_eq!(shown["quota"], json!([{"account": null, "vcpus": 0}, {"account": ACCOUNT, "vcpus": 9}]));
}
