//! The lives of instances: pending, running, with an address, shutting down, terminated, forgotten.

use reqwest::Method;
use serde_json::json;

use super::caller::{AwsClient, SignedClient};

impl SignedClient<'_> {
    /// The ids that carry a tag.
    async fn tagged(&self, launch_tag: &str) -> Vec<String> {
        let fields = [("Filter.1.Name", "tag:mark"), ("Filter.1.Value.1", launch_tag)];
        self.call("DescribeInstances", &fields).await.done().texts("instanceId")
    }
}

/// Fields that write a tag on instances.
fn launch_tag(value: &str) -> [(&str, &str); 3] {
    [
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "mark"),
        ("TagSpecification.1.Tag.1.Value", value),
    ]
}

#[tokio::test]
async fn an_instance_runs_and_gets_its_address_later() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let id = &signed_client.launched(&[]).await[0];
    assert_eq!(signed_client.state(id).await, "pending");
    caller.advance(60_000).await;
    let runs = signed_client.describe(id).await.done();
    assert!(runs.body.contains("<code>16</code><name>running</name>"), "{}", runs.body);
    assert_eq!((runs.texts("ipAddress"), runs.text("dnsName")), (vec![], String::new()));
    caller.advance(60_000).await;
    let reached = signed_client.describe(id).await.done();
    let address = reached.text("ipAddress");
    assert!(address.starts_with("127."), "{address}");
    let name = format!("ec2-{}.eu-west-1.compute.amazonaws.com", address.replace('.', "-"));
    assert_eq!(reached.text("dnsName"), name);
}

#[tokio::test]
async fn the_end_of_an_instance_can_be_watched_for_a_while() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let id = &signed_client.launched(&launch_tag("m")).await[0];
    caller.advance(120_000).await;
    let answer = signed_client.terminate(&[id]).await.done();
    let state = |name: &str| answer.text(name).split_once("<name>").unwrap().1.to_owned();
    assert_eq!(state("previousState"), "running</name>");
    assert_eq!(state("currentState"), "shutting-down</name>");
    assert_eq!(caller.standing("instance").await, 0);
    assert_eq!(signed_client.state(id).await, "shutting-down");
    caller.advance(60_000).await;
    let ended = signed_client.describe(id).await.done();
    assert!(ended.text("instanceState").contains("terminated"), "{}", ended.body);
    assert!(ended.text("stateReason").contains("Client.UserInitiatedShutdown"), "{}", ended.body);
    assert_eq!((ended.texts("ipAddress"), ended.texts("privateIpAddress")), (vec![], vec![]));
    assert_eq!(signed_client.tagged("m").await, [id.as_str()]);
    // Once more does no harm.
    assert!(signed_client.terminate(&[id]).await.done().text("previousState").contains("terminated"));
    caller.advance(3_600_000).await;
    let signed_client = caller.signed_client().await;
    assert_eq!(signed_client.describe(id).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(signed_client.tagged("m").await, [""; 0]);
}

#[tokio::test]
async fn a_pending_instance_that_is_terminated_never_runs() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let id = &signed_client.launched(&[]).await[0];
    caller.advance(30_000).await;
    signed_client.terminate(&[id]).await.done();
    caller.advance(35_000).await;
    assert_eq!(signed_client.state(id).await, "shutting-down");
    caller.advance(60_000).await;
    assert_eq!(signed_client.state(id).await, "terminated");
}

#[tokio::test]
async fn one_unknown_id_spoils_the_call_for_all() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let id = &signed_client.launched(&[]).await[0];
    let missing = "i-00000000000000000";
    let answer = signed_client.terminate(&[id, missing]).await;
    assert_eq!(answer.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert!(answer.text("Message").contains(missing) && !answer.text("Message").contains(id.as_str()));
    assert_eq!(signed_client.terminate(&["x"]).await.code(), (400, "InvalidInstanceID.Malformed".into()));
    assert_eq!(signed_client.terminate(&[]).await.code(), (400, "MissingParameter".into()));
    let dry_run = [("InstanceId.1", id.as_str()), ("DryRun", "true")];
    let answer = signed_client.call("TerminateInstances", &dry_run).await;
    assert_eq!(answer.code(), (412, "DryRunOperation".into()));
    assert_eq!(caller.standing("instance").await, 1);
}

#[tokio::test]
async fn an_instance_can_die_in_place_of_running() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let why = json!({"code": "Client.VolumeLimitExceeded", "message": "no disks left", "after": 1});
    caller.control(Method::POST, "faults/die", why).await;
    let ids = signed_client.launched(&[("MinCount", "3"), ("MaxCount", "3")]).await;
    caller.advance(60_000).await;
    assert_eq!(signed_client.state(&ids[0]).await, "running");
    assert_eq!(signed_client.state(&ids[2]).await, "running");
    let dead = signed_client.describe(&ids[1]).await.done();
    assert!(dead.text("instanceState").contains("terminated"), "{}", dead.body);
    let reason = "<code>Client.VolumeLimitExceeded</code><message>no disks left</message>";
    assert_eq!(dead.text("stateReason"), reason);
    assert_eq!(caller.standing("instance").await, 2);
}

#[tokio::test]
async fn an_instance_can_stay_without_an_address() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::POST, "faults/no_address", json!({"times": 0})).await;
    let ids = signed_client.launched(&[]).await;
    caller.control(Method::DELETE, "faults/no_address", json!({})).await;
    let others = signed_client.launched(&[]).await;
    caller.advance(24 * 3_600_000).await;
    let signed_client = caller.signed_client().await;
    assert_eq!(signed_client.state(&ids[0]).await, "running");
    assert_eq!(signed_client.describe(&ids[0]).await.texts("ipAddress"), [""; 0]);
    assert_eq!(signed_client.describe(&others[0]).await.texts("ipAddress").len(), 1);
}

#[tokio::test]
async fn a_new_instance_may_be_seen_late() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    caller.control(Method::PUT, "pace", json!({"visible_ms": 5_000})).await;
    let instance_request = [&launch_tag("m")[..], &[("ClientToken", "t")]].concat();
    let id = &signed_client.launched(&instance_request).await[0];
    let missing = (400, "InvalidInstanceID.NotFound".to_owned());
    assert_eq!(signed_client.describe(id).await.code(), missing);
    assert_eq!(signed_client.terminate(&[id]).await.code(), missing);
    assert_eq!(signed_client.tagged("m").await, [""; 0]);
    assert_eq!(signed_client.launched(&instance_request).await, [id.as_str()]);
    caller.advance(5_000).await;
    assert_eq!(signed_client.tagged("m").await, [id.as_str()]);
    assert_eq!(signed_client.state(id).await, "pending");
}

#[tokio::test]
async fn instances_come_by_reservation_and_by_page() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let two = [("MinCount", "2"), ("MaxCount", "2")];
    let mut all = Vec::new();
    for instance_request in [&two[..], &[], &two] {
        all.extend(signed_client.launched(&[instance_request, &launch_tag("m")].concat()).await);
    }
    let whole = signed_client.call("DescribeInstances", &[]).await.done();
    assert_eq!((whole.texts("instanceId"), whole.texts("reservationId").len()), (all.clone(), 3));
    caller.control(Method::PUT, "pages", json!({"items": 3})).await;
    let filter = [("Filter.1.Name", "tag:mark"), ("Filter.1.Value.1", "m")];
    let first = signed_client.call("DescribeInstances", &filter).await.done();
    assert_eq!((first.texts("instanceId").len(), first.texts("reservationId").len()), (3, 2));
    let next = first.text("nextToken");
    let rest = [&filter[..], &[("NextToken", next.as_str())]].concat();
    let second = signed_client.call("DescribeInstances", &rest).await.done();
    assert_eq!([first.texts("instanceId"), second.texts("instanceId")].concat(), all);
    assert_eq!(second.texts("nextToken"), [""; 0]);
    // Who names them gets all at once, and cannot ask for pages.
    let ids: Vec<(String, &String)> = (1..).map(|number| format!("InstanceId.{number}")).zip(&all).collect();
    let mut named: Vec<(&str, &str)> = ids.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
    assert_eq!(signed_client.call("DescribeInstances", &named).await.done().texts("instanceId"), all);
    named.push(("MaxResults", "5"));
    let both = signed_client.call("DescribeInstances", &named).await;
    assert_eq!(both.code(), (400, "InvalidParameterCombination".into()));
    let state = [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", "running")];
    assert_eq!(signed_client.call("DescribeInstances", &state).await.done().texts("instanceId"), [""; 0]);
}
