//! Regions and types of instances.

use reqwest::Method;
use serde_json::json;

use super::caller::{AwsClient, AwsResponse, SignedClient};

#[tokio::test]
async fn regions_are_those_that_the_account_can_use() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let usual = signed_client.call("DescribeRegions", &[]).await.done();
    assert!(usual.texts("regionName").contains(&"us-east-1".to_owned()), "{}", usual.body);
    assert!(!usual.body.contains("not-opted-in"), "{}", usual.body);
    let all = signed_client.call("DescribeRegions", &[("AllRegions", "true")]).await.done();
    assert!(all.body.contains("not-opted-in"), "{}", all.body);
    let one = signed_client.call("DescribeRegions", &[("RegionName.1", "eu-west-2")]).await.done();
    assert_eq!(one.texts("regionEndpoint"), ["ec2.eu-west-2.amazonaws.com"]);
    let mars = signed_client.call("DescribeRegions", &[("RegionName.1", "mars-1")]).await;
    assert_eq!(mars.code(), (400, "InvalidParameterValue".into()));
}

impl SignedClient<'_> {
    async fn types(&self, fields: &[(&str, &str)]) -> AwsResponse {
        self.call("DescribeInstanceTypes", fields).await
    }
}

#[tokio::test]
async fn types_come_in_pages_and_say_what_they_are_for() {
    let caller = AwsClient::new().await;
    let signed_client = caller.signed_client().await;
    let whole = signed_client.types(&[]).await.done().texts("instanceType");
    for family in ["t3.micro", "m5.large", "c5.large", "t4g.micro", "m6g.medium"] {
        assert!(whole.iter().any(|name| name == family), "{family}");
    }
    caller.control(Method::PUT, "pages", json!({"items": 7})).await;
    let (mut seen, mut token, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let fields: Vec<_> = token.iter().map(|token| ("NextToken", token.as_str())).collect();
        let page = signed_client.types(&fields).await.done();
        pages += 1;
        seen.extend(page.texts("instanceType"));
        token = page.texts("nextToken").pop();
        if token.is_none() {
            break;
        }
    }
    assert_eq!((&seen, pages), (&whole, whole.len().div_ceil(7)));
    let one = signed_client.types(&[("InstanceType.1", "m5d.large")]).await.done();
    assert_eq!(
        [one.text("defaultVCpus"), one.text("defaultCores"), one.text("sizeInMiB")],
        ["2", "1", "8192"]
    );
    assert_eq!(
        (one.text("totalSizeInGB"), one.text("supportedArchitectures")),
        ("75".into(), "<item>x86_64</item>".into())
    );
    let filter = [("Filter.1.Name", "instance-type"), ("Filter.1.Value.1", "t4g.*")];
    let arm = signed_client.types(&filter).await.done();
    assert!(arm.texts("supportedArchitectures").iter().all(|text| text == "<item>arm64</item>"));
    let odd = signed_client.types(&[("InstanceType.1", "t9.huge")]).await;
    assert_eq!(odd.code(), (400, "InvalidInstanceType".into()));
    assert_eq!(
        signed_client.types(&[("MaxResults", "4")]).await.code(),
        (400, "InvalidParameterValue".into())
    );
    assert_eq!(signed_client.types(&[("NextToken", "x")]).await.code(), (400, "InvalidNextToken".into()));
}
