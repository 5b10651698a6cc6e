//! Orders: what is asked for, what comes back, and rehearsals.

use std::collections::BTreeMap;

use cloud::{Category, InstanceRequest, InstanceState, Provider};

use super::fake::{CannedResponse, FakeAws, ReceivedRequest, done, instance_request, place, refused, role};

fn made() -> CannedResponse {
    let item = |id| {
        format!(
            "<item><instanceId>{id}</instanceId><instanceState><code>0</code><name>pending</name></instanceState></item>"
        )
    };
    let set = format!(
        "<reservationId>r-7</reservationId><ownerId>1</ownerId><groupSet/><instancesSet>{}{}</instancesSet>",
        item("i-1"),
        item("i-2")
    );
    done("RunInstances", &set)
}

/// What stands in a form beside the action, the version and the tags.
fn rest(asked: &ReceivedRequest) -> BTreeMap<&str, &str> {
    let said = |name: &str| matches!(name, "Action" | "Version") || name.starts_with("TagSpecification.");
    asked
        .form
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !said(name))
        .collect()
}

fn tags(asked: &ReceivedRequest, specification: usize) -> (String, Vec<(String, String)>) {
    let get =
        |name: String| asked.get(&format!("TagSpecification.{specification}.{name}")).map(str::to_owned);
    let tag = |number: usize| Some((get(format!("Tag.{number}.Key"))?, get(format!("Tag.{number}.Value"))?));
    (get("ResourceType".to_owned()).unwrap(), (1..).map_while(tag).collect())
}

#[tokio::test]
async fn an_order_says_everything_once() {
    let fake = FakeAws::answering(vec![made()]).await;
    let instance_request = InstanceRequest {
        subnet: Some("subnet-1".to_owned()),
        security_groups: vec!["sg-1".to_owned(), "sg-2".to_owned()],
        name: Some("web & co".to_owned()),
        tags: vec![("provision-engine-launch".to_owned(), "not ours".to_owned())],
        ..instance_request()
    };
    let created = fake.aws.create(&place(&role()), &instance_request, "token-1").await.unwrap();
    assert_eq!(created.reservation.as_deref(), Some("r-7"));
    let made: Vec<_> =
        created.instances.iter().map(|instance| (instance.id.as_str(), instance.state)).collect();
    assert_eq!(made, [("i-1", InstanceState::Pending), ("i-2", InstanceState::Pending)]);

    let asked = fake.last();
    let expect = BTreeMap::from([
        ("ClientToken", "token-1"),
        ("ImageId", "ami-1"),
        ("InstanceType", "t3.small"),
        ("KeyName", "key"),
        ("MaxCount", "2"),
        ("MetadataOptions.HttpTokens", "required"),
        ("MinCount", "1"),
        ("SecurityGroupId.1", "sg-1"),
        ("SecurityGroupId.2", "sg-2"),
        ("SubnetId", "subnet-1"),
        ("UserData", "I2Nsb3VkLWNvbmZpZwpodXNoOiB0cnVlCg=="),
    ]);
    assert_eq!(rest(&asked), expect);
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let both = vec![pair("Name", "web & co"), pair("provision-engine-launch", "mark-1")];
    assert_eq!(tags(&asked, 1), ("instance".to_owned(), both.clone()));
    assert_eq!(tags(&asked, 2), ("volume".to_owned(), both));
}

#[tokio::test]
async fn a_template_keeps_its_own_options() {
    let fake = FakeAws::answering(vec![made()]).await;
    for (template, name) in
        [("lt-0abc", "LaunchTemplate.LaunchTemplateId"), ("web", "LaunchTemplate.LaunchTemplateName")]
    {
        let instance_request = InstanceRequest {
            template: Some(template.to_owned()),
            image: None,
            instance_type: None,
            key_name: None,
            user_data: None,
            ..instance_request()
        };
        fake.aws.create(&place(&role()), &instance_request, "token-1").await.unwrap();
        let asked = fake.last();
        let expect = BTreeMap::from([
            ("ClientToken", "token-1"),
            ("MaxCount", "2"),
            ("MinCount", "1"),
            (name, template),
        ]);
        assert_eq!(rest(&asked), expect);
    }
}

#[tokio::test]
async fn a_token_that_aws_would_not_take_is_not_sent() {
    let fake = FakeAws::answering(vec![made()]).await;
    for token in ["", "a b", "ä", &"x".repeat(65)] {
        let error = fake.aws.create(&place(&role()), &instance_request(), token).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (Category::Invalid, "InvalidClientToken"));
    }
    assert!(fake.asked().is_empty());
    fake.aws.create(&place(&role()), &instance_request(), &"x".repeat(64)).await.unwrap();
}

#[tokio::test]
async fn errors_of_an_order_are_told_apart() {
    for (status, code, category, heals) in [
        (400, "IdempotentParameterMismatch", Category::Mismatch, false),
        (400, "IdempotentInstanceTerminated", Category::Terminated, false),
        (500, "InsufficientInstanceCapacity", Category::Capacity, true),
        (400, "VcpuLimitExceeded", Category::Quota, false),
        (503, "RequestLimitExceeded", Category::Throttle, true),
        (403, "UnauthorizedOperation", Category::Permission, false),
    ] {
        let fake = FakeAws::answering(vec![refused("RunInstances", status, code)]).await;
        let error = fake.aws.create(&place(&role()), &instance_request(), "token").await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (category, code));
        assert_eq!((error.may_heal(), error.may_have_happened()), (heals, false), "{code}");
    }
}

#[tokio::test]
async fn an_answer_without_instances_is_none() {
    let fake =
        FakeAws::answering(vec![done("RunInstances", "<reservationId>r-7</reservationId><instancesSet/>")])
            .await;
    let error = fake.aws.create(&place(&role()), &instance_request(), "token").await.unwrap_err();
    assert!(error.is(Category::Upstream) && error.may_have_happened(), "{error}");
}

#[tokio::test]
async fn a_dry_run_that_would_succeed_succeeds() {
    let fake = FakeAws::answering(vec![refused("RunInstances", 412, "DryRunOperation")]).await;
    fake.aws.dry_run(&place(&role()), &instance_request()).await.unwrap();
    let asked = fake.last();
    assert_eq!((asked.get("DryRun"), asked.get("ImageId")), (Some("true"), Some("ami-1")));
    assert_eq!(asked.get("ClientToken"), None);
}

#[tokio::test]
async fn a_dry_run_without_an_image_asks_with_one_that_is_missing() {
    let without = InstanceRequest { image: None, ..instance_request() };
    for code in ["DryRunOperation", "InvalidAMIID.NotFound", "InvalidAMIID.Unavailable"] {
        let fake = FakeAws::answering(vec![refused("RunInstances", 400, code)]).await;
        fake.aws.dry_run(&place(&role()), &without).await.unwrap();
        assert_eq!(fake.last().get("ImageId"), Some("ami-00000000000000000"));
    }
    let fake = FakeAws::answering(vec![refused("RunInstances", 400, "InvalidAMIID.NotFound")]).await;
    let error = fake.aws.dry_run(&place(&role()), &instance_request()).await.unwrap_err();
    assert!(error.is(Category::NotFound), "{error}");
    let fake = FakeAws::answering(vec![refused("RunInstances", 403, "UnauthorizedOperation")]).await;
    let error = fake.aws.dry_run(&place(&role()), &without).await.unwrap_err();
    assert!(error.is(Category::Permission), "{error}");
}

#[tokio::test]
async fn a_dry_run_that_was_carried_out_says_what_to_look_for() {
    let fake = FakeAws::answering(vec![made()]).await;
    let error = fake.aws.dry_run(&place(&role()), &instance_request()).await.unwrap_err();
    assert!(!error.may_heal() && error.message.contains("provision-engine-launch=mark-1"), "{error}");
}
