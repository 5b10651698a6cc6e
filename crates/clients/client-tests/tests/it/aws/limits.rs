//! Answers that no decent external system would send, and answers that never come.

use std::time::Duration;

use aws::{Aws, Options};
use cloud::{Category, CloudAccount, CloudError, Provider};
use tokio::net::TcpListener;

use super::fake::{CannedResponse, FakeAws, done, options, place, refused, role};

async fn regions(answer: CannedResponse) -> Result<Vec<String>, CloudError> {
    FakeAws::answering(vec![answer]).await.aws.regions(&place(&role())).await
}

async fn check_unusable(body: String, words: &str) {
    let error = regions(("DescribeRegions", 200, body)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Upstream, ""), "{error}");
    assert!(error.message.contains(words) && error.message.len() < 300, "{error}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_the_fault_of_the_external_system() {
    check_unusable(String::new(), "no whole XML").await;
    check_unusable("<html><body>Welcome</body></html>".to_owned(), "the name of the answer").await;
    check_unusable(done("DescribeInstances", "").2, "the name of the answer").await;
    check_unusable("<DescribeRegionsResponse><a>".repeat(50), "deeper than 32").await;
    check_unusable("x".repeat(17 << 20), "longer than 16777216 bytes").await;
    let nameless = "<regionInfo><item/></regionInfo>";
    check_unusable(done("DescribeRegions", nameless).2, "regionName").await;
    let typed = done("DescribeRegions", "").2.replace("?>\n", "?>\n<!DOCTYPE a>");
    check_unusable(typed, "document type").await;
}

#[tokio::test]
async fn a_page_for_people_is_sorted_by_its_status() {
    for (status, category) in [
        (301, Category::Upstream),
        (403, Category::Permission),
        (404, Category::Invalid),
        (429, Category::Throttle),
        (502, Category::Upstream),
    ] {
        let page = ("DescribeRegions", status, "<html>hush</html>".to_owned());
        let error = regions(page).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (category, ""), "{error}");
        assert!(!error.message.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn a_busy_external_system_is_asked_again_later() {
    let error = regions(refused("DescribeRegions", 503, "RequestLimitExceeded")).await.unwrap_err();
    assert!(error.is(Category::Throttle) && error.may_heal() && !error.may_have_happened(), "{error}");
    assert_eq!(error.after, None);
    let error = regions(refused("DescribeRegions", 429, "Throttling")).await.unwrap_err();
    assert_eq!(error.after, Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn a_region_that_is_none_is_not_asked() {
    let fake = FakeAws::answering(vec![done("DescribeRegions", "")]).await;
    let account = role();
    for region in ["", "evil.example", "x/../sts", "us-east-1:80"] {
        let error = fake.aws.regions(&CloudAccount { region, ..place(&account) }).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (Category::Invalid, "InvalidRegion"), "{region}");
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn silence_is_a_timeout_and_no_one_at_the_address_is_not() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = Options { timeout: Duration::from_millis(100), ..options(silent.local_addr().unwrap()) };
    let aws = Aws::new(&options).unwrap();
    let error = aws.regions(&place(&role())).await.unwrap_err();
    assert!(error.is(Category::Timeout) && error.may_have_happened() && error.may_heal(), "{error}");
    drop(silent);
    let error = aws.regions(&place(&role())).await.unwrap_err();
    assert!(error.is(Category::Network) && error.may_heal(), "{error}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let with = |change: fn(&mut Options)| {
        let mut options = Options::new();
        change(&mut options);
        Aws::new(&options)
    };
    assert!(with(|_| {}).is_ok());
    for (change, words) in [
        ((|options| options.ec2 = "ec2.amazonaws.com".to_owned()) as fn(&mut Options), "url"),
        (|options| options.sts = "ftp://sts".to_owned(), "http or https"),
        (|options| options.home = "Frankfurt!".to_owned(), "home region"),
    ] {
        let error = with(change).unwrap_err();
        assert!(error.is_final() && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_aws_of_a_sandbox_is_on_its_port() {
    let options = Options::beside("http://127.0.0.1:4711/");
    assert_eq!(options.ec2, "http://127.0.0.1:4711/aws/ec2/{region}");
    assert_eq!(options.sts, "http://127.0.0.1:4711/aws/sts");
    assert!(options.credentials.is_some());
}
