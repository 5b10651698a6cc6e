//! Who gets in: only a user who knows the secret key, now, and for what was really sent.

use reqwest::Method;
use serde_json::json;
use time::Duration;

use super::caller::{ACCOUNT, AwsClient, AwsResponse, OTHER, REGION, own_keys};
use super::signer::{TestKeys, Unsigned};

impl AwsClient {
    /// Signs one call and sends it after a change.
    async fn changed(&self, keys: &TestKeys, change: impl FnOnce(&mut Unsigned)) -> AwsResponse {
        let mut unsigned = self.unsigned(REGION, "DescribeRegions", &[]);
        change(&mut unsigned);
        self.try_call(keys, unsigned).await.unwrap()
    }
}

#[tokio::test]
async fn a_signed_call_is_answered_with_a_slash_at_the_end_and_without() {
    let caller = AwsClient::new().await;
    assert!(caller.changed(&own_keys(), |_| ()).await.done().texts("regionName").len() > 10);
    caller.changed(&own_keys(), |call| call.path += "/").await.done();
    let answer = caller.sts(&own_keys(), "GetCallerIdentity", &[]).await.done();
    assert!(answer.body.contains("xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\""), "{}", answer.body);
    assert_eq!((answer.text("Account"), answer.texts("RequestId").len()), ("999999999999".into(), 1));
}

#[tokio::test]
async fn a_wrong_signature_is_refused() {
    let caller = AwsClient::new().await;
    let wrong = caller.changed(&TestKeys::new("AKIASANDBOX", "guessed"), |_| ()).await;
    assert_eq!(wrong.code(), (403, "SignatureDoesNotMatch".into()));
    assert!(wrong.body.contains("<Response><Errors><Error><Code>"), "{}", wrong.body);
    assert_eq!(wrong.texts("RequestID").len(), 1);
    let wrong = caller.sts(&TestKeys::new("AKIASANDBOX", "guessed"), "GetCallerIdentity", &[]).await;
    assert_eq!(wrong.code(), (403, "SignatureDoesNotMatch".into()));
    assert!(wrong.body.contains("<ErrorResponse"), "{}", wrong.body);
}

#[tokio::test]
async fn what_was_signed_is_what_must_arrive() {
    let caller = AwsClient::new().await;
    let unsigned = caller.unsigned(REGION, "DescribeRegions", &[]);
    let headers = unsigned.sign(&own_keys());
    let more = format!("{}&AllRegions=true", unsigned.body);
    let answer = caller.post(&unsigned.path, headers.clone(), more).await.unwrap();
    assert_eq!(answer.code(), (403, "SignatureDoesNotMatch".into()));
    let elsewhere = caller.post("/aws/ec2/us-east-1", headers, unsigned.body.clone()).await.unwrap();
    assert_eq!(elsewhere.code(), (403, "SignatureDoesNotMatch".into()));
    let scoped = caller.changed(&own_keys(), |call| call.service = "sts".into()).await;
    assert_eq!(scoped.code(), (403, "SignatureDoesNotMatch".into()));
    let unsigned = caller.post(&unsigned.path, Vec::new(), unsigned.body).await.unwrap();
    assert_eq!(unsigned.code(), (403, "MissingAuthenticationToken".into()));
}

#[tokio::test]
async fn an_old_call_and_one_from_the_future_are_refused() {
    let caller = AwsClient::new().await;
    for minutes in [-16, 16] {
        let answer = caller.changed(&own_keys(), |call| call.at += Duration::minutes(minutes)).await;
        assert_eq!(answer.code(), (400, "RequestExpired".into()));
    }
    caller.changed(&own_keys(), |call| call.at -= Duration::minutes(14)).await.done();
    // The clock of the sandbox can be turned, and its callers do not turn with it.
    caller.advance(3_600_000).await;
    caller.changed(&own_keys(), |_| ()).await.done();
}

#[tokio::test]
async fn unknown_keys_are_refused_in_the_words_of_each_service() {
    let caller = AwsClient::new().await;
    let unknown = TestKeys::new("AKIANOBODY", "sandbox-secret");
    assert_eq!(caller.changed(&unknown, |_| ()).await.code(), (401, "AuthFailure".into()));
    let answer = caller.sts(&unknown, "GetCallerIdentity", &[]).await;
    assert_eq!(answer.code(), (403, "InvalidClientTokenId".into()));
    let account = TestKeys::new(&format!("AKIA{OTHER}"), "sandbox-secret");
    assert_eq!(caller.sts(&account, "GetCallerIdentity", &[]).await.done().text("Account"), OTHER);
}

#[tokio::test]
async fn a_session_ends_by_the_clock_and_needs_its_token() {
    let caller = AwsClient::new().await;
    let mut signed_client = caller.signed_client().await;
    let identity = caller.sts(&signed_client.keys, "GetCallerIdentity", &[]).await.done();
    let arn = format!("arn:aws:sts::{ACCOUNT}:assumed-role/launcher/a-launch");
    assert_eq!((identity.text("Arn"), identity.text("Account")), (arn, ACCOUNT.into()));
    caller.advance(3_590_000).await;
    signed_client.call("DescribeRegions", &[]).await.done();
    caller.advance(11_000).await;
    let answer = signed_client.call("DescribeRegions", &[]).await;
    assert_eq!(answer.code(), (403, "ExpiredToken".into()));
    signed_client.keys.token = None;
    assert_eq!(signed_client.call("DescribeRegions", &[]).await.code(), (401, "AuthFailure".into()));
    caller.signed_client().await.call("DescribeRegions", &[]).await.done();
}

#[tokio::test]
async fn what_no_one_understands_is_refused() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let refused =
        async |action: &str, fields: &[(&str, &str)]| signed_client.call(action, fields).await.code();
    assert_eq!(refused("LaunchRockets", &[]).await, (400, "InvalidAction".into()));
    assert_eq!(refused("AssumeRole", &[]).await, (400, "InvalidAction".into()));
    assert_eq!(refused("DescribeRegions", &[("Colour", "red")]).await, (400, "UnknownParameter".into()));
    let filter = [("Filter.1.Name", "colour"), ("Filter.1.Value.1", "red")];
    assert_eq!(refused("DescribeInstances", &filter).await, (400, "InvalidParameterValue".into()));
    let old = caller.changed(&own_keys(), |call| call.body = call.body.replace("2016", "2010")).await;
    assert_eq!(old.code(), (400, "NoSuchVersion".into()));
    let mars = caller.unsigned("mars-1", "DescribeRegions", &[]);
    assert_eq!(caller.try_call(&own_keys(), mars).await.unwrap().status, 404);
    let closed = caller.unsigned("af-south-1", "DescribeRegions", &[]);
    assert_eq!(caller.try_call(&own_keys(), closed).await.unwrap().code(), (401, "AuthFailure".into()));
    assert_eq!(caller.send(Method::PUT, "/aws/pace", json!({"colour_ms": 1})).await, 400);
}
