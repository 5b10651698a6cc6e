//! Nothing that is told about a call holds a secret.

use cloud::{Account, Provider};

use super::fake::{FakeAws, done, instance_request, options, place, refused, role};
use crate::log;

#[tokio::test]
async fn one_line_tells_of_each_call_without_secrets_and_user_data() {
    log::begin();
    let fake = FakeAws::answering(vec![
        done("DescribeRegions", "<regionInfo/>"),
        refused("RunInstances", 500, "InsufficientInstanceCapacity"),
    ])
    .await;
    let account = Account { source: "quiet".to_owned(), ..role() };
    fake.aws.regions(&place(&account)).await.unwrap();
    let error = fake.aws.create(&place(&account), &instance_request(), "token-1").await.unwrap_err();

    let told = log::text();
    let mine = told.lines().filter(|line| line.contains("for source quiet: "));
    let lines: Vec<&str> =
        mine.filter_map(|line| line.split_once("INFO aws: ")).map(|(_, said)| said).collect();
    let expect = [
        "AssumeRole in us-east-1 for source quiet: done, 0 ms",
        "DescribeRegions in eu-central-1 for source quiet: done, 0 ms",
        "RunInstances in eu-central-1 for source quiet: capacity InsufficientInstanceCapacity, 0 ms",
    ];
    assert_eq!(lines, expect, "{told}");
    let options = options("127.0.0.1:1".parse().unwrap());
    let told = format!("{told}{error:?}{error}{account:?}{options:?}{:?}", fake.aws);
    // As they are, and as they were sent.
    for secret in ["hush", "I2Nsb3Vk", "token-1", "Signature="] {
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
}
