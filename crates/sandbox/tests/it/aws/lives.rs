//! The lives of instances: pending, running, with an address, shutting down, terminated, forgotten.

use reqwest::Method;
use serde_json::json;

use super::caller::{Caller, Somebody};

impl Somebody<'_> {
    /// The ids that carry a tag.
    async fn marked(&self, mark: &str) -> Vec<String> {
        let fields = [("Filter.1.Name", "tag:mark"), ("Filter.1.Value.1", mark)];
        self.call("DescribeInstances", &fields).await.done().texts("instanceId")
    }
}

/// Fields that write a tag on instances.
fn mark(value: &str) -> [(&str, &str); 3] {
    [
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "mark"),
        ("TagSpecification.1.Tag.1.Value", value),
    ]
}

#[tokio::test]
async fn an_instance_runs_and_gets_its_address_later() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let id = &somebody.launched(&[]).await[0];
    assert_eq!(somebody.state(id).await, "pending");
    caller.advance(60_000).await;
    let runs = somebody.describe(id).await.done();
    assert!(runs.body.contains("<code>16</code><name>running</name>"), "{}", runs.body);
    assert_eq!((runs.texts("ipAddress"), runs.text("dnsName")), (vec![], String::new()));
    caller.advance(60_000).await;
    let reached = somebody.describe(id).await.done();
    let address = reached.text("ipAddress");
    assert!(address.starts_with("127."), "{address}");
    let name = format!("ec2-{}.eu-west-1.compute.amazonaws.com", address.replace('.', "-"));
    assert_eq!(reached.text("dnsName"), name);
}

#[tokio::test]
async fn the_end_of_an_instance_can_be_watched_for_a_while() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let id = &somebody.launched(&mark("m")).await[0];
    caller.advance(120_000).await;
    let answer = somebody.terminate(&[id]).await.done();
    let state = |name: &str| answer.text(name).split_once("<name>").unwrap().1.to_owned();
    assert_eq!(state("previousState"), "running</name>");
    assert_eq!(state("currentState"), "shutting-down</name>");
    assert_eq!(caller.standing("instance").await, 0);
    assert_eq!(somebody.state(id).await, "shutting-down");
    caller.advance(60_000).await;
    let ended = somebody.describe(id).await.done();
    assert!(ended.text("instanceState").contains("terminated"), "{}", ended.body);
    assert!(ended.text("stateReason").contains("Client.UserInitiatedShutdown"), "{}", ended.body);
    assert_eq!((ended.texts("ipAddress"), ended.texts("privateIpAddress")), (vec![], vec![]));
    assert_eq!(somebody.marked("m").await, [id.as_str()]);
    // Once more does no harm.
    assert!(somebody.terminate(&[id]).await.done().text("previousState").contains("terminated"));
    caller.advance(3_600_000).await;
    let somebody = caller.somebody().await;
    assert_eq!(somebody.describe(id).await.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert_eq!(somebody.marked("m").await, [""; 0]);
}

#[tokio::test]
async fn a_pending_instance_that_is_terminated_never_runs() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let id = &somebody.launched(&[]).await[0];
    caller.advance(30_000).await;
    somebody.terminate(&[id]).await.done();
    caller.advance(35_000).await;
    assert_eq!(somebody.state(id).await, "shutting-down");
    caller.advance(60_000).await;
    assert_eq!(somebody.state(id).await, "terminated");
}

#[tokio::test]
async fn one_unknown_id_spoils_the_call_for_all() {
    let caller = Caller::new().await;
    let somebody = caller.somebody().await;
    let id = &somebody.launched(&[]).await[0];
    let missing = "i-00000000000000000";
    let answer = somebody.terminate(&[id, missing]).await;
    assert_eq!(answer.code(), (400, "InvalidInstanceID.NotFound".into()));
    assert!(answer.text("Message").contains(missing) && !answer.text("Message").contains(id.as_str()));
    assert_eq!(somebody.terminate(&["x"]).await.code(), (400, "InvalidInstanceID.Malformed".into()));
    assert_eq!(somebody.terminate(&[]).await.code(), (400, "MissingParameter".into()));
    let rehearsed = [("InstanceId.1", id.as_str()), ("DryRun", "true")];
    let answer = somebody.call("TerminateInstances", &rehearsed).await;
    assert_eq!(answer.code(), (412, "DryRunOperation".into()));
    assert_eq!(caller.standing("instance").await, 1);
}

#[tokio::test]
async fn an_instance_can_die_in_place_of_running() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let why = json!({"code": "Client.VolumeLimitExceeded", "message": "no disks left", "after": 1});
    caller.knob(Method::POST, "faults/die", why).await;
    let ids = somebody.launched(&[("MinCount", "3"), ("MaxCount", "3")]).await;
    caller.advance(60_000).await;
    assert_eq!(somebody.state(&ids[0]).await, "running");
    assert_eq!(somebody.state(&ids[2]).await, "running");
    let dead = somebody.describe(&ids[1]).await.done();
    assert!(dead.text("instanceState").contains("terminated"), "{}", dead.body);
    let reason = "<code>Client.VolumeLimitExceeded</code><message>no disks left</message>";
    assert_eq!(dead.text("stateReason"), reason);
    assert_eq!(caller.standing("instance").await, 2);
}

#[tokio::test]
async fn an_instance_can_stay_without_an_address() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    caller.knob(Method::POST, "faults/no_address", json!({"times": 0})).await;
    let ids = somebody.launched(&[]).await;
    caller.knob(Method::DELETE, "faults/no_address", json!({})).await;
    let others = somebody.launched(&[]).await;
    caller.advance(24 * 3_600_000).await;
    let somebody = caller.somebody().await;
    assert_eq!(somebody.state(&ids[0]).await, "running");
    assert_eq!(somebody.describe(&ids[0]).await.texts("ipAddress"), [""; 0]);
    assert_eq!(somebody.describe(&others[0]).await.texts("ipAddress").len(), 1);
}

#[tokio::test]
async fn a_new_instance_may_be_seen_late() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    caller.knob(Method::PUT, "pace", json!({"visible_ms": 5_000})).await;
    let order = [&mark("m")[..], &[("ClientToken", "t")]].concat();
    let id = &somebody.launched(&order).await[0];
    let missing = (400, "InvalidInstanceID.NotFound".to_owned());
    assert_eq!(somebody.describe(id).await.code(), missing);
    assert_eq!(somebody.terminate(&[id]).await.code(), missing);
    assert_eq!(somebody.marked("m").await, [""; 0]);
    assert_eq!(somebody.launched(&order).await, [id.as_str()]);
    caller.advance(5_000).await;
    assert_eq!(somebody.marked("m").await, [id.as_str()]);
    assert_eq!(somebody.state(id).await, "pending");
}

#[tokio::test]
async fn instances_come_by_reservation_and_by_page() {
    let caller = Caller::slow().await;
    let somebody = caller.somebody().await;
    let two = [("MinCount", "2"), ("MaxCount", "2")];
    let mut all = Vec::new();
    for order in [&two[..], &[], &two] {
        all.extend(somebody.launched(&[order, &mark("m")].concat()).await);
    }
    let whole = somebody.call("DescribeInstances", &[]).await.done();
    assert_eq!((whole.texts("instanceId"), whole.texts("reservationId").len()), (all.clone(), 3));
    caller.knob(Method::PUT, "pages", json!({"items": 3})).await;
    let filter = [("Filter.1.Name", "tag:mark"), ("Filter.1.Value.1", "m")];
    let first = somebody.call("DescribeInstances", &filter).await.done();
    assert_eq!((first.texts("instanceId").len(), first.texts("reservationId").len()), (3, 2));
    let next = first.text("nextToken");
    let rest = [&filter[..], &[("NextToken", next.as_str())]].concat();
    let second = somebody.call("DescribeInstances", &rest).await.done();
    assert_eq!([first.texts("instanceId"), second.texts("instanceId")].concat(), all);
    assert_eq!(second.texts("nextToken"), [""; 0]);
    // Who names them gets all at once, and cannot ask for pages.
    let ids: Vec<(String, &String)> = (1..).map(|number| format!("InstanceId.{number}")).zip(&all).collect();
    let mut named: Vec<(&str, &str)> = ids.iter().map(|(name, id)| (name.as_str(), id.as_str())).collect();
    assert_eq!(somebody.call("DescribeInstances", &named).await.done().texts("instanceId"), all);
    named.push(("MaxResults", "5"));
    let both = somebody.call("DescribeInstances", &named).await;
    assert_eq!(both.code(), (400, "InvalidParameterCombination".into()));
    let state = [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", "running")];
    assert_eq!(somebody.call("DescribeInstances", &state).await.done().texts("instanceId"), [""; 0]);
}
