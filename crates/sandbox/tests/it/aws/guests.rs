//! The guests of instances: they answer at the public address while their instance runs.

use serde_json::{Value, json};

use super::caller::{ACCOUNT, AwsClient, REGION};

/// How often a listener is tried before it counts as not opening, or not closing.
const TRIES_MAX: usize = 500;

impl AwsClient {
    /// Waits for the background task of the sandbox, which works by the wall clock.
    async fn until_answers(&self, endpoint: &str, expected: bool) {
        for _ in 0..TRIES_MAX {
            if self.client.get(endpoint).send().await.is_ok() == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{endpoint} answers: {}", !expected);
    }
}

#[tokio::test]
async fn a_guest_answers_only_while_its_instance_runs() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let name = [
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "Name"),
        ("TagSpecification.1.Tag.1.Value", "web"),
    ];
    let id = &signed_client.launched(&name).await[0];
    caller.advance(120_000).await;
    let address = signed_client.describe(id).await.done().text("ipAddress");
    let endpoint = format!("http://{address}:8000/");
    caller.until_answers(&endpoint, true).await;
    let said: Value = caller.client.get(&endpoint).send().await.unwrap().json().await.unwrap();
    let guest = json!({"instance": id, "account": ACCOUNT, "region": REGION, "name": "web"});
    assert_eq!(said, json!({"status": "ok", "guest": guest}));
    signed_client.terminate(&[id]).await.done();
    caller.until_answers(&endpoint, false).await;
    // The address rests before another client gets it.
    caller.advance(60_000).await;
    let other = &signed_client.launched(&[]).await[0];
    caller.advance(120_000).await;
    assert_ne!(signed_client.describe(other).await.done().text("ipAddress"), address);
}

#[tokio::test]
async fn a_guest_answers_soon_without_anyone_asking() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let id = &signed_client.launched(&[]).await[0];
    let endpoint = loop {
        let answer = signed_client.describe(id).await.done();
        if let Some(address) = answer.texts("ipAddress").first() {
            break format!("http://{address}:8000/");
        }
        tokio::task::yield_now().await;
    };
    caller.until_answers(&endpoint, true).await;
    let AwsClient { client, sandbox } = caller;
    sandbox.stop().await;
    for _ in 0..TRIES_MAX {
        if client.get(&endpoint).send().await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{endpoint} still answers");
}

#[tokio::test]
async fn addresses_run_out_and_come_back() {
    let caller = AwsClient::slow().await;
    let signed_client = caller.signed_client().await;
    let many = signed_client.launched(&[("MinCount", "760"), ("MaxCount", "760")]).await;
    caller.advance(120_000).await;
    let all = signed_client.call("DescribeInstances", &[]).await.done().texts("ipAddress");
    let silent = all.iter().filter(|address| address.starts_with("198.18.")).count();
    assert_eq!((all.len(), silent), (760, 1));
    let ids: Vec<&str> = many.iter().map(String::as_str).collect();
    signed_client.terminate(&ids).await.done();
    caller.advance(60_000).await;
    let next = &signed_client.launched(&[]).await[0];
    caller.advance(120_000).await;
    assert!(signed_client.describe(next).await.done().text("ipAddress").starts_with("127."));
}
