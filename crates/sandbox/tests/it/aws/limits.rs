//! Room and quotas: enough are made, or none.

use reqwest::Method;
use serde_json::json;

use super::caller::{ACCOUNT, Caller, OTHER, REGION, Somebody};

#[tokio::test]
async fn as_many_are_made_as_fit_if_they_are_enough() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    caller.knob(Method::PUT, "capacity", json!({"instances": 3})).await;
    let order = |least, most| [("MinCount", least), ("MaxCount", most), ("ClientToken", "t")];
    let full = (500, "InsufficientInstanceCapacity".to_owned());
    assert_eq!(somebody.run(&order("4", "4")).await.code(), full);
    assert_eq!(caller.standing("instance").await, 0);
    // A refused order leaves its token free.
    let ids = somebody.launched(&order("2", "5")).await;
    assert_eq!(ids.len(), 3);
    assert_eq!(somebody.launched(&order("2", "5")).await, ids);
    assert_eq!(somebody.run(&[]).await.code(), full);
    // A rehearsal does not ask for room.
    assert_eq!(somebody.run(&[("DryRun", "true")]).await.code(), (412, "DryRunOperation".into()));
    somebody.terminate(&[&ids[0]]).await.done();
    somebody.run(&[]).await.done();
    assert_eq!(somebody.run(&[]).await.code(), full);
    caller.knob(Method::PUT, "capacity", json!({"instances": null})).await;
    somebody.run(&[("MinCount", "9"), ("MaxCount", "9")]).await.done();
}

#[tokio::test]
async fn room_can_be_short_for_one_type_in_one_region() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    let none = json!({"instances": 0, "region": REGION, "instance_type": "t3.micro"});
    caller.knob(Method::PUT, "capacity", none).await;
    assert_eq!(somebody.run(&[]).await.code(), (500, "InsufficientInstanceCapacity".into()));
    somebody.run(&[("InstanceType", "t3.small")]).await.done();
    Somebody { region: "us-east-1", ..somebody.clone() }.run(&[]).await.done();
    let shown = caller.get("/aws/capacity").await;
    assert_eq!(shown["capacity"][0]["instances"], 0);
}

#[tokio::test]
async fn an_account_has_a_quota_of_virtual_cpus_in_each_region() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    caller.knob(Method::PUT, "quota", json!({"account": ACCOUNT, "vcpus": 9})).await;
    let over = (400, "VcpuLimitExceeded".to_owned());
    let large = ("InstanceType", "m5.xlarge");
    assert_eq!(somebody.run(&[large, ("MinCount", "3"), ("MaxCount", "3")]).await.code(), over);
    let ids = somebody.launched(&[large, ("MinCount", "1"), ("MaxCount", "3")]).await;
    assert_eq!(ids.len(), 2);
    assert_eq!(somebody.run(&[]).await.code(), over);
    Somebody { region: "us-east-1", ..somebody.clone() }.run(&[]).await.done();
    caller.role(OTHER, "launcher").await.run(&[]).await.done();
    somebody.terminate(&[&ids[0]]).await.done();
    somebody.run(&[]).await.done();
    caller.knob(Method::PUT, "quota", json!({"vcpus": 0})).await;
    assert_eq!(caller.role(OTHER, "launcher").await.run(&[]).await.code(), over);
    let shown = caller.get("/aws/quota").await;
    assert_eq!(shown["quota"], json!([{"account": null, "vcpus": 0}, {"account": ACCOUNT, "vcpus": 9}]));
}
