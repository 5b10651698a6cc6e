//! What is known of clouds without asking them, and the cloud that makes nothing.

use cloud::noop::Noop;
use cloud::{
    Access, Account, CloudAccount, InstanceRequest, KeyMaterial, Provider, ProviderKind, external_id,
    ssh_command,
};
use engine::secret::{ExposeSecret, SecretString};

#[test]
fn every_provider_has_a_name_and_a_number_of_its_own() {
    let mut names = ProviderKind::ALL.map(ProviderKind::as_str);
    names.sort_unstable();
    assert_eq!(names, ProviderKind::NAMES);
    let mut numbers = ProviderKind::ALL.map(ProviderKind::number);
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
    for kind in ProviderKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str(), "rows and the spec name it alike");
    }
    let unknown = "AWS".parse::<ProviderKind>().unwrap_err();
    assert_eq!(unknown, "\"AWS\" is not a provider; the providers are aws, azure, gcp, noop");
}

#[test]
fn a_command_for_ssh_holds_a_user_and_an_address_and_nothing_else() {
    let command = |provider, address| ssh_command(provider, address);
    assert_eq!(command("aws", "10.0.0.1").as_deref(), Some("ssh ec2-user@10.0.0.1"));
    assert_eq!(command("azure", "fd00::1").as_deref(), Some("ssh azureuser@fd00::1"));
    assert_eq!(command("gcp", "host.example").as_deref(), Some("ssh gcp-user@host.example"));
    for (provider, address) in [
        ("noop", "10.0.0.1"),
        ("other", "10.0.0.1"),
        ("aws", ""),
        ("aws", "-x"),
        ("aws", "a;b"),
        ("aws", "a b"),
    ] {
        assert_eq!(command(provider, address), None, "{provider} {address}");
    }
}

#[test]
fn a_zone_is_told_from_its_region_as_the_cloud_writes_it() {
    for (kind, text, expect) in [
        (ProviderKind::Aws, "us-east-1", ("us-east-1", None)),
        (ProviderKind::Azure, "eastus_1", ("eastus", Some("1"))),
        (ProviderKind::Azure, "eastus", ("eastus", None)),
        (ProviderKind::Gcp, "us-central1-a", ("us-central1", Some("us-central1-a"))),
        (ProviderKind::Gcp, "us-central1", ("us-central1", None)),
    ] {
        assert_eq!((kind.spec().split_zone)(text), expect, "{kind} {text}");
    }
}

#[test]
fn an_image_is_found_in_the_options_of_its_upload() {
    let options = |name: &str| Some(format!("<{name}>"));
    let image = |kind: ProviderKind| (kind.spec().build.image_id)(&options);
    assert_eq!(image(ProviderKind::Aws).as_deref(), Some("<ami>"));
    assert_eq!(
        image(ProviderKind::Azure).as_deref(),
        Some(
            "/subscriptions/<subscription_id>/resourceGroups/<resource_group>/providers/Microsoft.Compute/images/<image_name>"
        )
    );
    assert_eq!(image(ProviderKind::Gcp).as_deref(), Some("projects/<project_id>/global/images/<image_name>"));
    assert_eq!(image(ProviderKind::Noop), None);
    assert_eq!((ProviderKind::Gcp.spec().build.image_id)(&|_| None), None);
}

#[test]
fn an_organisation_has_its_own_external_id_and_never_that_of_another() {
    let sent = |given: Option<&str>| {
        let given = given.map(SecretString::from);
        external_id("alpha", given.as_ref()).map(|id| id.expose_secret().to_owned()).ok()
    };
    let own = Some("provision-engine:alpha".to_owned());
    assert_eq!(sent(None), own);
    assert_eq!(sent(Some("")), own);
    assert_eq!(sent(Some("provision-engine:alpha")), own);
    assert_eq!(sent(Some("given-by-alpha")), Some("given-by-alpha".to_owned()));
    for foreign in [
        "provision-engine:beta",
        "provision-engine:",
        "provision-engine:alphabet",
        "Provision-Engine:alpha",
        "PROVISION-ENGINE:beta",
    ] {
        assert_eq!(sent(Some(foreign)), None, "{foreign}");
    }
}

#[tokio::test]
async fn an_order_is_taken_and_nothing_is_made() {
    let access = Access::Name("nowhere".to_owned());
    let account =
        Account { org: "org".to_owned(), source: "7".to_owned(), provider: ProviderKind::Noop, access };
    let place = CloudAccount { account: &account, region: "nowhere", session: "launch" };
    let instance_request =
        InstanceRequest { image: Some("image".to_owned()), most: 3, ..InstanceRequest::new("mark") };
    Noop.dry_run(&place, &instance_request).await.unwrap();
    assert_eq!(Noop.prepare(&place, &instance_request).await.unwrap(), None);
    assert_eq!(Noop.create(&place, &instance_request, "token").await.unwrap().instances, []);
    assert_eq!(Noop.find(&place, &instance_request).await.unwrap(), []);
    assert_eq!(Noop.sweep(&place, &instance_request).await.unwrap(), []);
    assert!(Noop.image(&place, "image").await.unwrap().is_some_and(|image| image.is_available));
    let key = KeyMaterial { line: "ssh-ed25519 AAAA".to_owned() };
    let key = Noop.upload_key(&place, "alice", &key, "mark").await.unwrap();
    assert_eq!((key.name.as_str(), key.launch_tag.as_deref()), ("alice", Some("mark")));
}
