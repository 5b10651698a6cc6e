//! `RunInstances`: what it makes, and what it refuses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::json;

use super::caller::{ACCOUNT, AMI, AwsClient, OTHER, REGION, SignedClient};
use super::keys::ED25519;
use super::signer::sha256;

const ARM_AMI: &str = "ami-0abcaa64000000000";

#[tokio::test]
async fn instances_are_made_as_they_were_ordered() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    signed_client.import("key", ED25519, "m").await.done();
    let script = "#!/bin/sh\necho hello";
    let answer = signed_client
        .run(&[
            ("MinCount", "2"),
            ("MaxCount", "2"),
            ("KeyName", "key"),
            ("UserData", &STANDARD.encode(script)),
            ("SubnetId", "subnet-12345678"),
            ("SecurityGroupId.1", "sg-12345678"),
            ("MetadataOptions.HttpTokens", "required"),
            ("TagSpecification.1.ResourceType", "instance"),
            ("TagSpecification.1.Tag.1.Key", "Name"),
            ("TagSpecification.1.Tag.1.Value", "a <b> & c"),
            ("TagSpecification.2.ResourceType", "volume"),
            ("TagSpecification.2.Tag.1.Key", "Name"),
            ("TagSpecification.2.Tag.1.Value", "disk"),
        ])
        .await
        .done();
    assert!(answer.body.contains("xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\""), "{}", answer.body);
    assert_eq!((answer.texts("requestId").len(), answer.text("ownerId")), (1, ACCOUNT.into()));
    assert!(answer.text("reservationId").starts_with("r-0"), "{}", answer.body);
    assert_eq!(answer.texts("amiLaunchIndex"), ["0", "1"]);
    assert_eq!(answer.texts("value"), ["a &lt;b&gt; &amp; c"; 2]);
    assert_eq!(answer.texts("availabilityZone"), ["eu-west-1a"; 2]);
    assert_eq!((answer.texts("ipAddress"), answer.texts("privateIpAddress").len()), (vec![], 2));

    let shown = caller.get("/aws/instances").await;
    let one = &shown["instances"][1];
    assert_eq!(one["user_data"], json!({"bytes": script.len(), "sha256": sha256(script)}));
    assert_eq!((&one["volume_tags"], &one["http_tokens"]), (&json!({"Name": "disk"}), &json!("required")));
    assert_eq!(
        (&one["subnet"], &one["security_groups"]),
        (&json!("subnet-12345678"), &json!(["sg-12345678"]))
    );
    let everything = format!("{shown}{}", caller.get("/ledger?all=true").await);
    assert!(!everything.contains("echo hello") && !everything.contains(&STANDARD.encode(script)));
    assert_eq!(caller.standing("instance").await, 2);
    let token = caller.get("/ledger").await["effects"][1]["token"].as_str().unwrap().to_owned();
    assert_eq!(token, format!("{ACCOUNT}/{REGION}/{}", answer.texts("instanceId")[0]));
}

#[tokio::test]
async fn what_does_not_exist_or_does_not_fit_is_refused() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let long = STANDARD.encode("x".repeat(16_385));
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("ImageId", "ami-00000000000000000")], "InvalidAMIID.NotFound"),
        (&[("ImageId", "")], "InvalidAMIID.Malformed"),
        (&[("ImageId", "image")], "InvalidAMIID.Malformed"),
        (&[("InstanceType", "t9.huge")], "InvalidParameterValue"),
        (&[("InstanceType", "t4g.micro")], "InvalidParameterValue"),
        (&[("ImageId", ARM_AMI)], "InvalidParameterValue"),
        (&[("KeyName", "unknown's")], "InvalidKeyPair.NotFound"),
        (&[("SubnetId", "subnet-0bad0000")], "InvalidSubnetID.NotFound"),
        (&[("SecurityGroupId.1", "sg-1"), ("SecurityGroupId.2", "sg-0bad0000")], "InvalidGroup.NotFound"),
        (&[("Placement.AvailabilityZone", "us-east-1a")], "InvalidParameterValue"),
        (&[("UserData", "!")], "InvalidUserData.Malformed"),
        (&[("UserData", &long)], "InvalidParameterValue"),
        (&[("MinCount", "0")], "InvalidParameterValue"),
        (&[("MinCount", "2")], "InvalidParameterValue"),
        (&[("MaxCount", "1001")], "InvalidParameterValue"),
        (&[("MetadataOptions.HttpTokens", "perhaps")], "InvalidParameterValue"),
        (&[("LaunchTemplate.LaunchTemplateId", "lt-00000000000000000")], "InvalidLaunchTemplateId.NotFound"),
        (&[("BlockDeviceMapping.1.DeviceName", "/dev/sda1")], "UnknownParameter"),
    ];
    for (fields, code) in table {
        assert_eq!(signed_client.run(fields).await.code(), (400, (*code).into()), "{fields:?}");
        let dry_run = [fields, &[("DryRun", "true")][..]].concat();
        assert_eq!(signed_client.run(&dry_run).await.code(), (400, (*code).into()), "{fields:?}");
    }
    let countless = [("ImageId", AMI), ("InstanceType", "t3.micro"), ("MinCount", "1")];
    assert_eq!(signed_client.call("RunInstances", &countless).await.code(), (400, "MissingParameter".into()));
    signed_client.run(&[("ImageId", ARM_AMI), ("InstanceType", "m6g.large")]).await.done();
    assert_eq!(caller.standing("instance").await, 1);
}

#[tokio::test]
async fn a_dry_run_makes_nothing() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let instance_request = [("ClientToken", "t"), ("DryRun", "true")];
    assert_eq!(signed_client.run(&instance_request).await.code(), (412, "DryRunOperation".into()));
    assert_eq!(caller.standing("instance").await, 0);
    signed_client.run(&instance_request[..1]).await.done();
    assert_eq!(signed_client.run(&instance_request).await.code(), (412, "DryRunOperation".into()));
    let counts = &caller.get("/aws/calls").await["counts"]["RunInstances"];
    assert_eq!(counts, &json!({"calls": 3, "answered": 1, "refused": 0, "rehearsed": 2}));
}

#[tokio::test]
async fn an_image_is_there_for_whom_it_was_shared_with() {
    let caller = AwsClient::new().await;
    let ami = "ami-11111111111111111";
    let image = json!({"ami": ami, "region": REGION, "architecture": "x86_64", "accounts": [ACCOUNT]});
    caller.control(Method::POST, "images", image).await;
    let signed_client = caller.signed_client().await;
    let (run, missing) = ([("ImageId", ami)], (400, "InvalidAMIID.NotFound".to_owned()));
    signed_client.run(&run).await.done();
    let shown = signed_client.call("DescribeImages", &[("ImageId.1", ami)]).await.done();
    assert_eq!((shown.text("imageState"), shown.text("architecture")), ("available".into(), "x86_64".into()));
    assert_eq!(signed_client.call("DescribeImages", &[]).await.done().texts("imageId"), [ami]);
    let elsewhere = SignedClient { region: "us-east-1", ..signed_client.clone() };
    assert_eq!(elsewhere.run(&run).await.code(), missing);
    let outsider = caller.role(OTHER, "launcher").await;
    assert_eq!(outsider.run(&run).await.code(), missing);
    assert_eq!(outsider.call("DescribeImages", &[("ImageId.1", ami)]).await.code(), missing);
    assert_eq!(outsider.call("DescribeImages", &[]).await.done().texts("imageId"), [""; 0]);
    caller.control(Method::DELETE, &format!("images/{REGION}/{ami}"), json!({})).await;
    assert_eq!(signed_client.run(&run).await.code(), missing);
}
