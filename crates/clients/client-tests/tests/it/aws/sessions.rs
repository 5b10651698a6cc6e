//! Roles: taken once, kept for a while, taken again.

use std::time::Duration;

use aws::{Aws, Options};
use cloud::{Access, Account, Category, CloudAccount, Provider};
use futures_util::future::join_all;

use super::fake::{FakeAws, ROLE, done, place, refused, role, role_taken, role_until};

fn regions() -> (&'static str, u16, String) {
    done("DescribeRegions", "<regionInfo><item><regionName>eu-central-1</regionName></item></regionInfo>")
}

#[tokio::test]
async fn a_role_is_taken_for_the_session_with_the_external_id() {
    let fake = FakeAws::answering(vec![regions()]).await;
    fake.aws.regions(&place(&role())).await.unwrap();
    let [taken, asked] = &fake.asked()[..] else { panic!("{:?}", fake.actions()) };

    assert_eq!((taken.path.as_str(), taken.action()), ("/sts", "AssumeRole"));
    assert_eq!(taken.get("Version"), Some("2011-06-15"));
    assert_eq!(taken.get("RoleArn"), Some(ROLE));
    assert_eq!(taken.get("RoleSessionName"), Some("launch-1"));
    assert_eq!(taken.get("ExternalId"), Some("hush-external"));
    assert_eq!(taken.credential(), "AKIAOURS/20260301/us-east-1/sts/aws4_request");
    assert!(!taken.headers.contains_key("x-amz-security-token"));

    assert_eq!((asked.path.as_str(), asked.action()), ("/ec2/eu-central-1", "DescribeRegions"));
    assert_eq!(asked.get("Version"), Some("2016-11-15"));
    assert_eq!(asked.credential(), "ASIATAKEN/20260301/eu-central-1/ec2/aws4_request");
    assert_eq!(asked.headers["x-amz-security-token"], "hush-session");
    assert_eq!(asked.headers["x-amz-date"], "20260301T120000Z");
    assert!(
        asked.headers["authorization"]
            .contains("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token")
    );
}

#[tokio::test]
async fn many_calls_at_once_take_a_role_once() {
    let fake = FakeAws::answering(vec![regions()]).await;
    let account = role();
    let place = place(&account);
    for answer in join_all((0..20).map(|_| fake.aws.regions(&place))).await {
        answer.unwrap();
    }
    fake.aws.clone().regions(&place).await.unwrap();
    let taken = fake.actions().iter().filter(|action| *action == "AssumeRole").count();
    assert_eq!((taken, fake.actions().len()), (1, 22));
}

#[tokio::test]
async fn another_session_another_role_or_another_external_id_is_another_session() {
    let fake = FakeAws::answering(vec![regions()]).await;
    let other = |arn: &str, external_id: Option<&str>| {
        let access = Access::Role { arn: arn.to_owned(), external_id: external_id.map(Into::into) };
        Account { access, ..role() }
    };
    let account = role();
    fake.aws.regions(&place(&account)).await.unwrap();
    fake.aws.regions(&CloudAccount { session: "launch-2", ..place(&account) }).await.unwrap();
    fake.aws.regions(&place(&other("arn:aws:iam::2:role/x", Some("hush-external")))).await.unwrap();
    fake.aws.regions(&place(&other(ROLE, None))).await.unwrap();
    fake.aws.regions(&place(&other(ROLE, Some("guessed")))).await.unwrap();
    let asked = fake.asked();
    let ids: Vec<Option<&str>> = asked
        .iter()
        .filter(|asked| asked.action() == "AssumeRole")
        .map(|asked| asked.get("ExternalId"))
        .collect();
    let hush = Some("hush-external");
    assert_eq!(ids, [hush, hush, hush, Some("provision-engine:org-7"), Some("guessed")]);
}

#[tokio::test]
async fn the_external_id_of_another_organisation_is_never_sent() {
    let fake = FakeAws::answering(vec![regions()]).await;
    for forged in ["provision-engine:org-8", "provision-engine:", "Provision-Engine:org-7"] {
        let access = Access::Role { arn: ROLE.to_owned(), external_id: Some(forged.into()) };
        let refused = fake.aws.regions(&place(&Account { access, ..role() })).await.unwrap_err();
        assert!(refused.is(Category::Permission), "{refused}");
    }
    assert!(fake.asked().is_empty(), "{:?}", fake.actions());
}

#[tokio::test]
async fn a_role_is_taken_again_five_minutes_before_it_ends() {
    let fake =
        FakeAws::with(vec![role_taken(), role_until("2026-03-01T14:00:00Z", "ASIASECOND"), regions()]).await;
    let account = role();
    fake.aws.regions(&place(&account)).await.unwrap();
    fake.clock.turn(Duration::from_secs(55 * 60 - 1));
    fake.aws.regions(&place(&account)).await.unwrap();
    assert_eq!(fake.actions(), ["AssumeRole", "DescribeRegions", "DescribeRegions"]);
    fake.clock.turn(Duration::from_secs(1));
    fake.aws.regions(&place(&account)).await.unwrap();
    assert_eq!(fake.actions()[3..], ["AssumeRole", "DescribeRegions"]);
    assert!(fake.last().credential().starts_with("ASIASECOND/"));
}

#[tokio::test]
async fn a_session_that_ended_early_is_replaced_once() {
    let fake = FakeAws::with(vec![
        role_taken(),
        role_until("2026-03-01T13:00:00Z", "ASIASECOND"),
        refused("DescribeRegions", 400, "RequestExpired"),
        regions(),
    ])
    .await;
    fake.aws.regions(&place(&role())).await.unwrap();
    assert_eq!(fake.actions(), ["AssumeRole", "DescribeRegions", "AssumeRole", "DescribeRegions"]);
    assert!(fake.last().credential().starts_with("ASIASECOND/"));

    let never = FakeAws::answering(vec![refused("DescribeRegions", 403, "ExpiredToken")]).await;
    let error = never.aws.regions(&place(&role())).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "ExpiredToken"));
    assert_eq!(never.actions().len(), 4);
}

#[tokio::test]
async fn a_role_that_is_denied_is_asked_for_again_the_next_time() {
    let body = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized to perform \
                sts:AssumeRole</Message></Error></ErrorResponse>";
    let fake = FakeAws::with(vec![("AssumeRole", 403, body.to_owned()), role_taken(), regions()]).await;
    let error = fake.aws.regions(&place(&role())).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "AccessDenied"));
    assert_eq!(error.message, "not authorized to perform sts:AssumeRole");
    assert!(!error.may_heal() && !error.may_have_happened());
    fake.aws.regions(&place(&role())).await.unwrap();
}

#[tokio::test]
async fn keys_of_the_account_are_used_as_they_are() {
    let fake = FakeAws::with(vec![regions(), refused("DescribeRegions", 400, "RequestExpired")]).await;
    let access = Access::Keys { id: "AKIATHEIRS".to_owned(), secret: "hush".into() };
    let account = Account { access, ..role() };
    fake.aws.regions(&place(&account)).await.unwrap();
    let asked = fake.last();
    assert_eq!(asked.credential(), "AKIATHEIRS/20260301/eu-central-1/ec2/aws4_request");
    assert!(!asked.headers.contains_key("x-amz-security-token"));
    // There is no other session to be had.
    fake.aws.regions(&place(&account)).await.unwrap_err();
    assert_eq!(fake.actions(), ["DescribeRegions", "DescribeRegions"]);
}

#[tokio::test]
async fn without_credentials_no_one_is_asked_and_the_settings_are_named() {
    let fake = FakeAws::answering(vec![regions()]).await;
    let nowhere = Options { credentials: None, ..Options::beside("http://127.0.0.1:9") };
    let error = Aws::new(&nowhere).unwrap().regions(&place(&role())).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "NoCredentials"));
    assert!(error.message.contains("launch.aws.access_key_id"), "{error}");

    let account = Account { access: Access::Name("subscription".to_owned()), ..role() };
    let error = fake.aws.regions(&place(&account)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "NoCredentials"));
    assert!(fake.asked().is_empty());
}
