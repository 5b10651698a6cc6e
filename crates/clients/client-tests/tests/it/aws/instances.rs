//! Instances: found, described, deleted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws::Aws;
use cloud::{Access, Account, Category, CloudInstance, InstanceRequest, InstanceState, Provider};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::fake::{FakeAws, done, instance_request, options, place, refused, role};

fn item(id: &str, state: &str) -> String {
    format!("<item><instanceId>{id}</instanceId><instanceState><name>{state}</name></instanceState></item>")
}

fn reservation(items: &[String]) -> String {
    format!("<item><reservationId>r-1</reservationId><instancesSet>{}</instancesSet></item>", items.concat())
}

fn listed(reservations: &[String], next: &str) -> (&'static str, u16, String) {
    let set = format!("<reservationSet>{}</reservationSet>{next}", reservations.concat());
    done("DescribeInstances", &set)
}

fn ids(instances: &[CloudInstance]) -> Vec<&str> {
    instances.iter().map(|instance| instance.id.as_str()).collect()
}

fn named(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn all_reservations_on_all_pages_are_found_by_the_mark() {
    let fake = FakeAws::answering(vec![
        listed(
            &[
                reservation(&[item("i-1", "pending"), item("i-2", "running")]),
                reservation(&[item("i-3", "shutting-down")]),
            ],
            "<nextToken>more=</nextToken>",
        ),
        listed(&[reservation(&[])], "<nextToken>last</nextToken>"),
        listed(
            &[reservation(&[item("i-4", "terminated")]), reservation(&[item("i-5", "stopped")])],
            "<nextToken/>",
        ),
    ])
    .await;
    let found = fake.aws.find(&place(&role()), &InstanceRequest::new("mark-1")).await.unwrap();
    assert_eq!(ids(&found), ["i-1", "i-2", "i-3", "i-4", "i-5"]);
    let states: Vec<&str> = found.iter().map(|instance| instance.state.as_str()).collect();
    let expect = ["pending", "running", "shutting_down", "terminated", "stopped"];
    assert_eq!(states, expect);

    let asked = &fake.asked()[1..];
    let tokens: Vec<Option<&str>> = asked.iter().map(|asked| asked.get("NextToken")).collect();
    assert_eq!(tokens, [None, Some("more="), Some("last")]);
    for asked in asked {
        assert_eq!(asked.get("Filter.1.Name"), Some("tag:provision-engine-launch"));
        assert_eq!(asked.list("Filter.1.Value"), ["mark-1"]);
    }
}

#[tokio::test]
async fn a_list_that_never_ends_is_given_up() {
    let fake = FakeAws::answering(vec![listed(&[], "<nextToken>again</nextToken>")]).await;
    let error = fake.aws.find(&place(&role()), &InstanceRequest::new("mark-1")).await.unwrap_err();
    assert!(error.is(Category::Upstream) && error.message.contains("100 pages"), "{error}");
}

#[tokio::test]
async fn what_is_known_about_an_instance_is_read() {
    let full = "<item><instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState>\
                <privateDnsName>ip-10-0-0-1.internal</privateDnsName><dnsName>ec2-1.example.com</dnsName>\
                <reason>old words</reason><ipAddress>198.51.100.7</ipAddress>\
                <privateIpAddress>10.0.0.1</privateIpAddress><networkInterfaceSet><item><ipv6AddressesSet/></item><item>\
                <ipv6AddressesSet><item><ipv6Address>2001:db8::7</ipv6Address></item></ipv6AddressesSet></item>\
                </networkInterfaceSet><stateReason><code>Client.X</code><message>new words</message></stateReason></item>";
    let bare = "<item><instanceId>i-2</instanceId><instanceState><name>stopping</name></instanceState><dnsName/>\
                <reason/></item>";
    let fake =
        FakeAws::answering(vec![listed(&[reservation(&[full.to_owned(), bare.to_owned()])], "")]).await;
    let found = fake.aws.describe(&place(&role()), &named(&["i-1", "i-2"])).await.unwrap();
    let some = |text: &str| Some(text.to_owned());
    let expect = [
        CloudInstance {
            id: "i-1".to_owned(),
            state: InstanceState::Running,
            public_dns: some("ec2-1.example.com"),
            public_ipv4: some("198.51.100.7"),
            private_ipv4: some("10.0.0.1"),
            private_ipv6: some("2001:db8::7"),
            reason: some("new words"),
        },
        CloudInstance {
            id: "i-2".to_owned(),
            state: InstanceState::Stopping,
            public_dns: None,
            public_ipv4: None,
            private_ipv4: None,
            private_ipv6: None,
            reason: None,
        },
    ];
    assert_eq!(found, expect);
}

#[tokio::test]
async fn what_the_cloud_does_not_know_is_missing_and_what_no_one_asked_for_too() {
    let all = [reservation(&[item("i-1", "running"), item("i-9", "running")])];
    let fake = FakeAws::answering(vec![listed(&all, "")]).await;
    let found = fake.aws.describe(&place(&role()), &named(&["i-1", "i-2"])).await.unwrap();
    assert_eq!(ids(&found), ["i-1"]);
    let asked = fake.last();
    assert_eq!(asked.get("Filter.1.Name"), Some("instance-id"));
    assert_eq!(asked.list("Filter.1.Value"), ["i-1", "i-2"]);
    assert!(fake.aws.describe(&place(&role()), &[]).await.unwrap().is_empty());
    assert_eq!(fake.actions().len(), 2);
}

#[tokio::test]
async fn many_ids_are_asked_for_in_several_calls() {
    let fake = FakeAws::answering(vec![listed(&[], ""), done("TerminateInstances", "<instancesSet/>")]).await;
    let many: Vec<String> = (0..250).map(|number| format!("i-{number}")).collect();
    fake.aws.describe(&place(&role()), &many).await.unwrap();
    fake.aws.delete(&place(&role()), &many).await.unwrap();
    let asked = fake.asked();
    let described = asked.iter().flat_map(|asked| asked.list("Filter.1.Value"));
    assert_eq!(described.collect::<Vec<_>>(), many);
    let ended = asked.iter().flat_map(|asked| asked.list("InstanceId"));
    assert_eq!(ended.collect::<Vec<_>>(), many);
    assert_eq!(asked.len(), 7);
}

#[tokio::test]
async fn a_state_that_no_one_knows_is_not_guessed() {
    let fake = FakeAws::answering(vec![listed(&[reservation(&[item("i-1", "dreaming")])], "")]).await;
    let error = fake.aws.find(&place(&role()), &InstanceRequest::new("mark-1")).await.unwrap_err();
    assert!(error.is(Category::Upstream) && error.message.contains("instanceState/name"), "{error}");
}

#[tokio::test]
async fn one_unknown_id_does_not_save_the_others() {
    let fake = FakeAws::answering(vec![
        refused("TerminateInstances", 400, "InvalidInstanceID.NotFound"),
        done("TerminateInstances", "<instancesSet/>"),
        listed(&[reservation(&[item("i-1", "running"), item("i-3", "terminated")])], ""),
    ])
    .await;
    fake.aws.delete(&place(&role()), &named(&["i-1", "i-2", "i-3"])).await.unwrap();
    let asked = fake.asked();
    assert_eq!(fake.actions()[1..], ["TerminateInstances", "DescribeInstances", "TerminateInstances"]);
    assert_eq!(asked[1].list("InstanceId"), ["i-1", "i-2", "i-3"]);
    assert_eq!(asked[3].list("InstanceId"), ["i-1", "i-3"]);
}

#[tokio::test]
async fn what_is_not_there_needs_no_deleting() {
    let fake = FakeAws::answering(vec![
        refused("TerminateInstances", 400, "InvalidInstanceID.NotFound"),
        listed(&[], ""),
    ])
    .await;
    fake.aws.delete(&place(&role()), &named(&["i-1"])).await.unwrap();
    assert_eq!(fake.actions()[1..], ["TerminateInstances", "DescribeInstances"]);
    fake.aws.delete(&place(&role()), &[]).await.unwrap();
    assert_eq!(fake.actions().len(), 3);
}

#[tokio::test]
async fn an_instance_that_is_listed_and_unknown_is_worth_another_try() {
    let fake = FakeAws::answering(vec![
        refused("TerminateInstances", 400, "InvalidInstanceID.NotFound"),
        listed(&[reservation(&[item("i-1", "pending")])], ""),
    ])
    .await;
    let error = fake.aws.delete(&place(&role()), &named(&["i-1"])).await.unwrap_err();
    assert!(error.may_heal(), "{error}");
    let denied = FakeAws::answering(vec![refused("TerminateInstances", 403, "UnauthorizedOperation")]).await;
    let error = denied.aws.delete(&place(&role()), &named(&["i-1"])).await.unwrap_err();
    assert!(error.is(Category::Permission) && !error.may_heal(), "{error}");
}

/// Reads a call and hangs up.
async fn rude() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"ClientToken=token") {
                let mut part = [0; 4096];
                let length = stream.read(&mut part).await.unwrap();
                assert_ne!(length, 0);
                request.extend_from_slice(&part[..length]);
            }
            count.fetch_add(1, Ordering::SeqCst);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n<RunInstan").await.unwrap();
        }
    });
    (address, calls)
}

#[tokio::test]
async fn a_lost_answer_may_be_that_of_a_call_that_was_carried_out() {
    let (address, calls) = rude().await;
    let access = Access::Keys { id: "AKIA".to_owned(), secret: "hush".into() };
    let account = Account { access, ..role() };
    let aws = Aws::new(&options(address)).unwrap();
    let error = aws.create(&place(&account), &instance_request(), "token").await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Network, ""), "{error}");
    assert!(error.may_have_happened() && error.may_heal());
    assert!(!error.message.contains("127.0.0.1"), "{error}");
    // Whether to repeat it is for the caller to say.
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}
