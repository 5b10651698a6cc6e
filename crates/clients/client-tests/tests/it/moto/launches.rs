//! Instances from the order to their end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::{Category, CloudInstance, InstanceRequest, InstanceState, Page, Provider};

use super::checks::Checks;
use super::cloud::{IMAGE, NO_IMAGE};
use super::keys;
use super::server::{ACCOUNT, Moto, element, place, role};

const USER_DATA: &str = "#cloud-config\nwrite_files: [\"ä & = +\"]\n";

fn instance_request(launch_tag: &str) -> InstanceRequest {
    InstanceRequest {
        image: Some(IMAGE.to_owned()),
        instance_type: Some("t3.micro".to_owned()),
        least: 2,
        most: 2,
        key_name: Some("of launches".to_owned()),
        user_data: Some(USER_DATA.to_owned()),
        tags: vec![("rh-org".to_owned(), "000013".to_owned())],
        name: Some("a name, with & = +".to_owned()),
        ..InstanceRequest::new(launch_tag)
    }
}

pub(crate) async fn come_and_go(moto: &Moto, checks: &mut Checks) {
    let key = keys::uploaded(moto).await;
    dry_runs(moto, checks).await;
    error_responses(moto, checks).await;
    let two = two_at_once(moto, checks).await;
    templates(moto, checks).await;
    the_end(moto, checks, &two).await;
    moto.aws.delete_key(&place(&role(ACCOUNT)), &key).await.unwrap();
}

async fn dry_runs(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let place = place(&account);
    moto.aws.dry_run(&place, &instance_request("rehearsed")).await.unwrap();
    let without = InstanceRequest { image: None, ..instance_request("rehearsed") };
    moto.aws.dry_run(&place, &without).await.unwrap();
    let left = moto.aws.find(&place, &InstanceRequest::new("rehearsed")).await.unwrap();
    checks.that(left.is_empty(), &left);
}

async fn error_responses(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let place = place(&account);
    for (instance_request, code, category) in [
        (
            InstanceRequest { image: Some(NO_IMAGE.to_owned()), ..instance_request("refused") },
            "InvalidAMIID.NotFound",
            Category::NotFound,
        ),
        (
            InstanceRequest { key_name: Some("unknown's".to_owned()), ..instance_request("refused") },
            "InvalidKeyPair.NotFound",
            Category::NotFound,
        ),
        (
            InstanceRequest {
                subnet: Some("subnet-0123456789abcdef0".to_owned()),
                ..instance_request("refused")
            },
            "InvalidSubnetID.NotFound",
            Category::NotFound,
        ),
    ] {
        let error = moto.aws.create(&place, &instance_request, "refused").await.unwrap_err();
        checks.same((error.code.as_str(), error.category), (code, category));
        checks.that(!error.message.is_empty() && !error.may_heal(), &error);
    }
    let strange =
        InstanceRequest { instance_type: Some("t3.colossal".to_owned()), ..instance_request("refused") };
    let error = moto.aws.create(&place, &strange, "refused").await.unwrap_err();
    checks.that(matches!(error.category, Category::NotFound | Category::Invalid), &error);
    let left = moto.aws.find(&place, &InstanceRequest::new("refused")).await.unwrap();
    checks.that(left.is_empty(), &left);
}

async fn two_at_once(moto: &Moto, checks: &mut Checks) -> Vec<String> {
    let account = role(ACCOUNT);
    let place = place(&account);
    let created = moto.aws.create(&place, &instance_request("mark-of-two"), "token-of-two").await.unwrap();
    checks.that(created.reservation.as_deref().is_some_and(|id| id.starts_with("r-")), &created);
    let ids: Vec<String> = created.instances.iter().map(|instance| instance.id.clone()).collect();
    checks.that(ids.len() == 2 && ids.iter().all(|id| id.starts_with("i-")), &ids);

    let described = moto.aws.describe(&place, &ids).await.unwrap();
    checks.same(sorted(&described), sorted(&created.instances));
    for instance in &described {
        checks.same(instance.state, InstanceState::Running);
        let addresses = [&instance.public_dns, &instance.public_ipv4, &instance.private_ipv4];
        checks.that(addresses.iter().all(|address| address.is_some()), instance);
    }
    let mut with_others = ids.clone();
    with_others.extend(["i-0123456789abcdef0".to_owned(), "nothing".to_owned()]);
    checks.same(moto.aws.describe(&place, &with_others).await.unwrap(), described.clone());
    checks.same(
        sorted(&moto.aws.find(&place, &InstanceRequest::new("mark-of-two")).await.unwrap()),
        sorted(&described),
    );
    checks.same(moto.aws.find(&place, &InstanceRequest::new("mark-of-tw")).await.unwrap(), []);
    as_ordered(moto, checks, &ids[0]).await;
    ids
}

/// What the driver never reads: user data, tags and the token.
async fn as_ordered(moto: &Moto, checks: &mut Checks, id: &str) {
    let attribute = format!("Action=DescribeInstanceAttribute&InstanceId={id}&Attribute=userData");
    let user_data = moto.raw(&attribute).await;
    let user_data = element(element(&user_data, "userData"), "value").trim();
    checks.same(STANDARD.decode(user_data).unwrap(), USER_DATA.as_bytes());
    let seen = moto.raw(&format!("Action=DescribeInstances&InstanceId.1={id}")).await;
    checks.same(element(&seen, "clientToken"), "token-of-two");
    checks.same(element(&seen, "imageId"), IMAGE);
    checks.same(element(&seen, "instanceType"), "t3.micro");
    checks.same(element(&seen, "keyName"), "of launches");
    let tags = element(&seen, "tagSet");
    for text in ["rh-org", "000013", "a name, with &amp; = +", "provision-engine-launch", "mark-of-two"] {
        checks.that(tags.contains(text), (text, tags));
    }
    let filter = "Filter.1.Name=tag%3Aprovision-engine-launch&Filter.1.Value.1=mark-of-two";
    let volumes = moto.raw(&format!("Action=DescribeVolumes&{filter}")).await;
    checks.that(volumes.contains(id), (id, volumes.as_str()));
}

async fn templates(moto: &Moto, checks: &mut Checks) {
    let account = role(ACCOUNT);
    let place = place(&account);
    let data = format!("LaunchTemplateData.ImageId={IMAGE}&LaunchTemplateData.InstanceType=t3.small");
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let made = moto.raw(&format!("Action=CreateLaunchTemplate&LaunchTemplateName={name}&{data}")).await;
        ids.push(element(&made, "launchTemplateId").to_owned());
    }
    let all = moto.aws.templates(&place, &Page { limit: 100, token: None }).await.unwrap();
    let mut found: Vec<(&str, &str)> =
        all.items.iter().map(|item| (item.name.as_str(), item.id.as_str())).collect();
    found.sort_unstable();
    checks.same(found, vec![("one", ids[0].as_str()), ("three", &ids[2]), ("two", &ids[1])]);
    checks.same(all.next, None);

    for (launch_tag, template) in [("by-id", ids[0].as_str()), ("by-name", "two")] {
        let instance_request = InstanceRequest {
            template: Some(template.to_owned()),
            image: None,
            instance_type: None,
            least: 1,
            most: 1,
            ..instance_request(launch_tag)
        };
        let created = moto.aws.create(&place, &instance_request, launch_tag).await.unwrap();
        let found = moto.aws.find(&place, &InstanceRequest::new(launch_tag)).await.unwrap();
        checks.same(sorted(&found), sorted(&created.instances));
        let seen = moto.raw(&format!("Action=DescribeInstances&InstanceId.1={}", found[0].id)).await;
        checks.same(element(&seen, "instanceType"), "t3.small");
        checks.same(element(&seen, "imageId"), IMAGE);
    }
    let instance_request = InstanceRequest {
        template: Some(ids[0].clone()),
        least: 1,
        most: 1,
        ..instance_request("overridden")
    };
    let created = moto.aws.create(&place, &instance_request, "overridden").await.unwrap();
    let seen = moto.raw(&format!("Action=DescribeInstances&InstanceId.1={}", created.instances[0].id)).await;
    checks.same(element(&seen, "instanceType"), "t3.micro");
}

async fn the_end(moto: &Moto, checks: &mut Checks, two: &[String]) {
    let account = role(ACCOUNT);
    let place = place(&account);
    let with_unknown = [two[0].clone(), "i-0123456789abcdef0".to_owned()];
    moto.aws.delete(&place, &with_unknown).await.unwrap();
    let states = |instances: Vec<CloudInstance>| {
        let mut all: Vec<(bool, bool)> = instances
            .iter()
            .map(|instance| (two[0] == instance.id, instance.state == InstanceState::Terminated))
            .collect();
        all.sort_unstable();
        all
    };
    let after_one = moto.aws.find(&place, &InstanceRequest::new("mark-of-two")).await.unwrap();
    checks.same(states(after_one), vec![(false, false), (true, true)]);
    moto.aws.delete(&place, two).await.unwrap();
    let after_both = moto.aws.describe(&place, two).await.unwrap();
    checks.that(after_both.iter().all(|instance| instance.state.is_gone()), &after_both);
    checks.that(after_both.iter().all(|instance| instance.reason.is_some()), &after_both);
    moto.aws.delete(&place, two).await.unwrap();
    checks.that(true, "deleting them again is no error");
}

fn sorted(instances: &[CloudInstance]) -> Vec<&str> {
    let mut ids: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
    ids.sort_unstable();
    ids
}
