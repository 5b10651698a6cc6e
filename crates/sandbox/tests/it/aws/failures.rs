//! Trouble on demand: calls that fail, are throttled or get lost, and the log of all of them.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::caller::{ACCOUNT, AwsClient, OTHER, REGION, own_keys};
use super::signer::TestKeys;

#[tokio::test]
async fn the_next_calls_of_an_action_fail_with_a_code() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let fail = json!({"action": "RunInstances", "code": "InternalError", "times": 2});
    caller.control(Method::POST, "faults/fail", fail).await;
    // A rehearsal is not what was meant.
    assert_eq!(signed_client.run(&[("DryRun", "true")]).await.code(), (412, "DryRunOperation".into()));
    for _ in 0..2 {
        assert_eq!(signed_client.run(&[("ClientToken", "t")]).await.code(), (500, "InternalError".into()));
    }
    assert_eq!(caller.standing("instance").await, 0);
    signed_client.run(&[("ClientToken", "t")]).await.done();
    let fail =
        json!({"action": "RunInstances", "code": "UnauthorizedOperation", "dry_run": true, "times": 0});
    caller.control(Method::POST, "faults/fail", fail).await;
    signed_client.run(&[]).await.done();
    assert_eq!(signed_client.run(&[("DryRun", "true")]).await.code(), (403, "UnauthorizedOperation".into()));
    assert_eq!(caller.get("/aws/faults/fail").await["faults"][0]["hits"], 1);
    let odd = json!({"action": "LaunchRockets", "code": "X"});
    assert_eq!(caller.send(Method::POST, "/aws/faults/fail", odd).await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_failure_can_be_for_one_account_only() {
    let caller = AwsClient::new().await;
    let fail = json!({
        "action": "DescribeImages", "code": "RequestLimitExceeded", "message": "not <now>",
        "account": ACCOUNT, "region": REGION, "times": 0,
    });
    caller.control(Method::POST, "faults/fail", fail).await;
    caller.role(OTHER, "launcher").await.call("DescribeImages", &[]).await.done();
    let answer = caller.signed_client().await.call("DescribeImages", &[]).await;
    assert_eq!(answer.code(), (503, "RequestLimitExceeded".into()));
    assert_eq!(answer.text("Message"), "not &lt;now&gt;");
}

#[tokio::test]
async fn every_so_many_calls_one_is_throttled() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::PUT, "throttle", json!({"every": 3})).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(signed_client.call("DescribeRegions", &[]).await.status);
    }
    assert_eq!(statuses, [200, 200, 503, 200, 200, 503]);
    caller.control(Method::PUT, "throttle", json!({"every": 1, "action": "GetCallerIdentity"})).await;
    signed_client.call("DescribeRegions", &[]).await.done();
    let answer = caller.sts(&own_keys(), "GetCallerIdentity", &[]).await;
    assert_eq!(answer.code(), (400, "Throttling".into()));
    caller.control(Method::PUT, "throttle", json!({"every": 0})).await;
    caller.sts(&own_keys(), "GetCallerIdentity", &[]).await.done();
}

#[tokio::test]
async fn an_answer_gets_lost_after_the_call_was_carried_out() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::POST, "faults/lose", json!({"action": "RunInstances"})).await;
    let instance_request =
        [("ClientToken", "t"), ("ImageId", super::caller::AMI), ("InstanceType", "t3.micro")];
    let instance_request = [&instance_request[..], &[("MinCount", "1"), ("MaxCount", "1")]].concat();
    // What is refused was not carried out, so its answer arrives.
    assert_eq!(signed_client.run(&[("KeyName", "no")]).await.code(), (400, "InvalidKeyPair.NotFound".into()));
    let unsigned = caller.unsigned(REGION, "RunInstances", &instance_request);
    assert!(caller.try_call(&signed_client.keys, unsigned.clone()).await.is_err());
    assert_eq!(caller.standing("instance").await, 1);
    let made = caller.get("/aws/instances").await["instances"][0]["id"].as_str().unwrap().to_owned();
    let again = caller.try_call(&signed_client.keys, unsigned).await.unwrap().done();
    assert_eq!((again.texts("instanceId"), caller.standing("instance").await), (vec![made], 1));
}

#[tokio::test]
async fn faults_hit_both_services_before_anyone_looks() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    for system in ["ec2", "sts"] {
        let fault = json!({"system": system, "kind": "error", "status": 500});
        assert_eq!(caller.send(Method::POST, "/faults", fault).await, StatusCode::CREATED);
    }
    assert_eq!(signed_client.call("DescribeRegions", &[]).await.status, 500);
    signed_client.call("DescribeRegions", &[]).await.done();
    assert_eq!(caller.sts(&own_keys(), "GetCallerIdentity", &[]).await.status, 500);
    let about = json!({"system": "ec2", "kind": "drop_after", "about": "ImportKeyPair"});
    assert_eq!(caller.send(Method::POST, "/faults", about).await, StatusCode::CREATED);
    signed_client.call("DescribeRegions", &[]).await.done();
    let fields = [
        ("KeyName", "key"),
        (
            "PublicKeyMaterial",
            "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUlXMlZDdmdGaVdlSFBtZnMwVnlRdThyd2RTVWJnN2JhdzFxZjNRSGpsOFY=",
        ),
    ];
    let unsigned = caller.unsigned(REGION, "ImportKeyPair", &fields);
    assert!(caller.try_call(&signed_client.keys, unsigned).await.is_err());
    assert_eq!(caller.standing("key_pair").await, 1);
}

#[tokio::test]
async fn all_calls_are_counted_and_the_newest_are_kept() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    signed_client.run(&[]).await.done();
    signed_client.run(&[("KeyName", "no")]).await;
    caller.sts(&TestKeys::new("AKIANOBODY", ""), "GetCallerIdentity", &[]).await;
    let calls = caller.get("/aws/calls").await;
    let counts = json!({
        "AssumeRole": {"calls": 1, "answered": 1, "refused": 0, "rehearsed": 0},
        "GetCallerIdentity": {"calls": 1, "answered": 0, "refused": 1, "rehearsed": 0},
        "RunInstances": {"calls": 2, "answered": 1, "refused": 1, "rehearsed": 0},
    });
    assert_eq!(calls["counts"], counts);
    let newest = calls["newest"].as_array().unwrap();
    let column = |name: &str| newest.iter().map(|call| call[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("action"), ["AssumeRole", "RunInstances", "RunInstances", "GetCallerIdentity"]);
    assert_eq!(column("account"), [json!("999999999999"), json!(ACCOUNT), json!(ACCOUNT), json!(null)]);
    let codes = [json!(null), json!(null), json!("InvalidKeyPair.NotFound"), json!("InvalidClientTokenId")];
    assert_eq!(column("code"), codes);
    for _ in 0..1000 {
        caller.post("/aws/sts", Vec::new(), "Action=GetCallerIdentity".into()).await.unwrap();
    }
    let calls = caller.get("/aws/calls").await;
    assert_eq!(calls["newest"].as_array().unwrap().len(), 1000);
    assert_eq!(calls["counts"]["GetCallerIdentity"]["calls"], 1001);
    caller.control(Method::DELETE, "calls", json!({})).await;
    assert_eq!(caller.get("/aws/calls").await, json!({"counts": {}, "newest": []}));
}

#[tokio::test]
async fn a_reset_sets_all_controls_back_and_leaves_what_was_made() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let delay_times = caller.get("/aws/pace").await;
    signed_client.run(&[]).await.done();
    let role = format!("arn:aws:iam::{ACCOUNT}:role/launcher");
    caller.control(Method::PUT, "pace", json!({"running_ms": 7})).await;
    caller.control(Method::PUT, "capacity", json!({"instances": 0})).await;
    caller.control(Method::PUT, "quota", json!({"vcpus": 0})).await;
    caller.control(Method::PUT, "throttle", json!({"every": 1})).await;
    caller.control(Method::PUT, "pages", json!({"items": 1})).await;
    caller.control(Method::PUT, "external_ids", json!({role: "x"})).await;
    caller
        .control(Method::POST, "faults/fail", json!({"action": "AssumeRole", "code": "X", "times": 0}))
        .await;
    caller.control(Method::POST, "faults/die", json!({"times": 0})).await;
    caller.control(Method::POST, "reset", json!({})).await;
    assert_eq!(caller.get("/aws/pace").await, delay_times);
    assert_eq!(caller.get("/aws/calls").await["counts"], json!({}));
    // The session is still good, and so is the role.
    signed_client.run(&[]).await.done();
    let all = caller.signed_client().await.call("DescribeInstances", &[]).await.done();
    assert_eq!((all.texts("instanceId").len(), caller.standing("instance").await), (2, 2));
    for (control, body) in [
        ("pages", json!({"items": 0})),
        ("quota", json!({"vcpus": 1, "account": "me"})),
        ("pace", json!({"running_ms": 100_000_000})),
        ("capacity", json!({"colour": 1})),
    ] {
        let status = caller.send(Method::PUT, &format!("/aws/{control}"), body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{control}");
    }
}
