//! Roles: who can take them, and what some of them may not do.

use reqwest::Method;
use serde_json::json;

use super::caller::{ACCOUNT, AMI, AwsClient};

const ROLE: &str = "arn:aws:iam::123456789012:role/launcher";

#[tokio::test]
async fn a_role_can_be_taken_for_as_long_as_is_allowed() {
    let caller = AwsClient::new().await;
    let answer = caller.assume(ROLE, &[("DurationSeconds", "900"), ("ExternalId", "any")]).await.done();
    let arn = format!("arn:aws:sts::{ACCOUNT}:assumed-role/launcher/a-launch");
    assert_eq!(answer.texts("Arn"), [arn]);
    assert!(answer.text("AccessKeyId").starts_with("ASIA"), "{}", answer.body);
    assert!(answer.text("Expiration").ends_with('Z'), "{}", answer.body);
    for (role, fields) in [
        (ROLE, [("DurationSeconds", "899")]),
        (ROLE, [("DurationSeconds", "43201")]),
        ("arn:aws:iam::1:role/launcher", [("DurationSeconds", "900")]),
    ] {
        assert_eq!(caller.assume(role, &fields).await.code(), (400, "ValidationError".into()));
    }
    let fields = [("RoleArn", ROLE), ("RoleSessionName", "not a name")];
    let answer = caller.sts(&super::caller::own_keys(), "AssumeRole", &fields).await;
    assert_eq!(answer.code(), (400, "ValidationError".into()));
}

#[tokio::test]
async fn a_role_can_be_denied_or_demand_an_external_id() {
    let caller = AwsClient::new().await;
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(caller.assume("arn:aws:iam::123456789012:role/denied", &[]).await.code(), denied);
    caller.control(Method::PUT, "external_ids", json!({ROLE: "s3cret"})).await;
    assert_eq!(caller.assume(ROLE, &[]).await.code(), denied);
    assert_eq!(caller.assume(ROLE, &[("ExternalId", "other")]).await.code(), denied);
    caller.assume(ROLE, &[("ExternalId", "s3cret")]).await.done();
    caller.assume("arn:aws:iam::123456789012:role/free", &[]).await.done();
    assert_eq!(caller.get("/aws/external_ids").await, json!({"roles": [ROLE]}));
}

#[tokio::test]
async fn a_role_that_may_not_launch_is_told_so_also_in_a_dry_run() {
    let caller = AwsClient::new().await;
    let signed_client = caller.role(ACCOUNT, "no-launch").await;
    let refused = (403, "UnauthorizedOperation".to_owned());
    assert_eq!(signed_client.run(&[]).await.code(), refused);
    assert_eq!(signed_client.run(&[("DryRun", "true")]).await.code(), refused);
    // Who may not, does not even learn what exists.
    assert_eq!(signed_client.run(&[("ImageId", "ami-00000000000000000")]).await.code(), refused);
    signed_client.call("DescribeImages", &[("ImageId.1", AMI)]).await.done();
    assert_eq!(caller.standing("instance").await, 0);
}

#[tokio::test]
async fn a_role_that_may_not_terminate_can_still_launch() {
    let caller = AwsClient::new().await;
    let signed_client = caller.role(ACCOUNT, "no-terminate").await;
    let id = &signed_client.launched(&[]).await[0];
    assert_eq!(signed_client.terminate(&[id]).await.code(), (403, "UnauthorizedOperation".into()));
    assert_eq!(caller.standing("instance").await, 1);
    caller.signed_client().await.terminate(&[id]).await.done();
    assert_eq!(caller.standing("instance").await, 0);
}
