//! The driver against the sandbox, which checks every signature and forgets no token.

use std::net::{Ipv4Addr, SocketAddr};

use aws::{Aws, Options};
use cloud::{
    Access, Account, Category, CloudAccount, CloudInstance, Fingerprints, InstanceRequest, InstanceState,
    KeyMaterial, Page, Provider,
};
use sandbox::Sandbox;
use serde_json::{Value, json};

use super::fake::{self, ROLE, role};

/// So often a test looks again. Each time, a second has passed for the external system.
const LOOKS_MAX: usize = 60;
const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGASG1mVRNQdz4oI1DHtsJOpwUp+yfyo+W4UYma5fa/3";
/// SHA-256 of what stands after the type, as `ssh-keygen` has it.
const FINGERPRINT: &str = "rGhW/e54bLlmQjNgZkRBXd2PYCKPVhCObPOPxCHuMac=";

struct SandboxedAws {
    sandbox: Sandbox,
    aws: Aws,
    client: reqwest::Client,
}

impl SandboxedAws {
    async fn new() -> SandboxedAws {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let aws = Aws::new(&Options::beside(&sandbox.url())).unwrap();
        SandboxedAws { sandbox, aws, client: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    async fn post(&self, path: &str, body: Value) {
        let request = self.client.post(format!("{}{path}", self.sandbox.url())).json(&body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    async fn put(&self, path: &str, body: Value) {
        let request = self.client.put(format!("{}{path}", self.sandbox.url())).json(&body);
        request.send().await.unwrap().error_for_status().unwrap();
    }

    /// Looks until all instances of the mark are as they should be.
    async fn settled(
        &self,
        launch_tag: &str,
        is_right: impl Fn(&CloudInstance) -> bool,
    ) -> Vec<CloudInstance> {
        for _ in 0..LOOKS_MAX {
            let found = self.aws.find(&place(&role()), &InstanceRequest::new(launch_tag)).await.unwrap();
            if !found.is_empty() && found.iter().all(&is_right) {
                return found;
            }
            self.post("/clock", json!({ "advance_ms": 1000 })).await;
        }
        panic!("the instances of {launch_tag} did not settle");
    }
}

fn place(account: &Account) -> CloudAccount<'_> {
    fake::place(account)
}

fn instance_request(launch_tag: &str) -> InstanceRequest {
    let image = Some("ami-0abcdef0123456789".to_owned());
    InstanceRequest {
        image,
        key_name: None,
        least: 2,
        launch_tag: launch_tag.to_owned(),
        ..fake::instance_request()
    }
}

fn ids(instances: &[CloudInstance]) -> Vec<String> {
    let mut ids: Vec<String> = instances.iter().map(|instance| instance.id.clone()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_launch_from_the_key_to_the_end() {
    let fixture = SandboxedAws::new().await;
    let (account, aws) = (role(), &fixture.aws);
    let place = place(&account);
    let identity = aws.identity(&place).await.unwrap();
    assert_eq!(identity.account_id, "123456789012");
    assert!(identity.name.ends_with("assumed-role/launch/launch-1"), "{identity:?}");
    assert!(aws.regions(&place).await.unwrap().contains(&"eu-central-1".to_owned()));
    assert!(aws.instance_types(&place).await.unwrap().iter().any(|one| one.name == "t3.small"));
    assert!(aws.image(&place, "ami-0abcdef0123456789").await.unwrap().unwrap().is_available);
    assert_eq!(aws.image(&place, "ami-0ffffffffffffffff").await.unwrap(), None);
    assert!(aws.templates(&place, &Page { limit: 10, token: None }).await.unwrap().items.is_empty());

    let fingerprints = Fingerprints { any_of: vec![FINGERPRINT.to_owned(), FINGERPRINT.replace('=', "")] };
    assert_eq!(aws.find_key(&place, &fingerprints).await.unwrap(), None);
    let material = KeyMaterial { line: ED25519.to_owned() };
    let key = aws.upload_key(&place, "alice", &material, "mark").await.unwrap();
    assert_eq!(aws.find_key(&place, &fingerprints).await.unwrap().as_ref(), Some(&key));
    let twice = aws.upload_key(&place, "alice", &material, "mark").await.unwrap_err();
    assert!(twice.is(Category::Duplicate), "{twice}");

    let instance_request = InstanceRequest { key_name: Some(key.name.clone()), ..instance_request("mark") };
    aws.dry_run(&place, &instance_request).await.unwrap();
    aws.dry_run(&place, &InstanceRequest { image: None, ..instance_request.clone() }).await.unwrap();
    let created = aws.create(&place, &instance_request, "token").await.unwrap();
    assert_eq!(created.instances.len(), 2);
    let running = fixture.settled("mark", |instance| instance.public_ipv4.is_some()).await;
    assert!(running.iter().all(|instance| instance.state == InstanceState::Running), "{running:?}");
    assert_eq!(ids(&running), ids(&created.instances));
    assert_eq!(ids(&aws.describe(&place, &ids(&running)).await.unwrap()), ids(&running));

    let with_unknown = [ids(&running), vec!["i-0123456789abcdef0".to_owned()]].concat();
    aws.delete(&place, &with_unknown).await.unwrap();
    fixture.settled("mark", |instance| instance.state == InstanceState::Terminated).await;
    aws.delete_key(&place, &key).await.unwrap();
    assert_eq!(aws.find_key(&place, &fingerprints).await.unwrap(), None);
    aws.delete_key(&place, &key).await.unwrap();
}

#[tokio::test]
async fn a_token_stands_for_one_order_and_its_instances() {
    let fixture = SandboxedAws::new().await;
    let account = role();
    let place = place(&account);
    let first = fixture.aws.create(&place, &instance_request("mark"), "token").await.unwrap();
    let again = fixture.aws.create(&place, &instance_request("mark"), "token").await.unwrap();
    assert_eq!(ids(&first.instances), ids(&again.instances));
    let other = InstanceRequest { instance_type: Some("t3.medium".to_owned()), ..instance_request("mark") };
    let error = fixture.aws.create(&place, &other, "token").await.unwrap_err();
    assert!(error.is(Category::Mismatch), "{error}");
    fixture.aws.delete(&place, &ids(&first.instances)).await.unwrap();
    fixture.settled("mark", |instance| instance.state.is_gone()).await;
    let error = fixture.aws.create(&place, &instance_request("mark"), "token").await.unwrap_err();
    assert!(error.is(Category::Terminated), "{error}");
    assert_eq!(fixture.aws.find(&place, &InstanceRequest::new("mark")).await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_was_made_behind_a_lost_answer_is_found_again() {
    let fixture = SandboxedAws::new().await;
    let account = role();
    let place = place(&account);
    fixture.post("/aws/faults/lose", json!({ "action": "RunInstances" })).await;
    let error = fixture.aws.create(&place, &instance_request("mark"), "token").await.unwrap_err();
    assert!(error.is(Category::Network) && error.may_have_happened(), "{error}");
    let found = fixture.aws.find(&place, &InstanceRequest::new("mark")).await.unwrap();
    assert_eq!(found.len(), 2);
    let again = fixture.aws.create(&place, &instance_request("mark"), "token").await.unwrap();
    assert_eq!(ids(&again.instances), ids(&found));
}

#[tokio::test]
async fn every_page_of_the_external_system_is_read() {
    let fixture = SandboxedAws::new().await;
    let account = role();
    let place = place(&account);
    let all_types = fixture.aws.instance_types(&place).await.unwrap();
    fixture.put("/aws/pages", json!({ "items": 3 })).await;
    let mut made = Vec::new();
    for number in 0..5 {
        let created =
            fixture.aws.create(&place, &instance_request("mark"), &format!("token-{number}")).await.unwrap();
        made.extend(created.instances);
    }
    assert_eq!(ids(&fixture.aws.find(&place, &InstanceRequest::new("mark")).await.unwrap()), ids(&made));
    assert_eq!(fixture.aws.instance_types(&place).await.unwrap(), all_types);
}

#[tokio::test]
async fn a_role_is_not_lent_to_someone_with_another_external_id() {
    let fixture = SandboxedAws::new().await;
    fixture.put("/aws/external_ids", json!({ ROLE: "hush-external" })).await;
    fixture.aws.identity(&place(&role())).await.unwrap();
    for external_id in [None, Some("guessed".into())] {
        let account = Account { access: Access::Role { arn: ROLE.to_owned(), external_id }, ..role() };
        let error = fixture.aws.identity(&place(&account)).await.unwrap_err();
        assert!(error.is(Category::Permission) && error.code == "AccessDenied", "{error}");
    }
}

#[tokio::test]
async fn what_the_external_system_refuses_is_sorted() {
    let fixture = SandboxedAws::new().await;
    let account = role();
    let place = place(&account);
    let refused = async |instance_request: &InstanceRequest, token: &str| {
        let error = fixture.aws.create(&place, instance_request, token).await.unwrap_err();
        (error.category, error.code)
    };
    fixture.put("/aws/capacity", json!({ "instances": 1 })).await;
    let (category, code) = refused(&instance_request("mark"), "token-1").await;
    assert_eq!((category, code.as_str()), (Category::Capacity, "InsufficientInstanceCapacity"));
    let some = InstanceRequest { least: 1, ..instance_request("mark") };
    assert_eq!(fixture.aws.create(&place, &some, "token-2").await.unwrap().instances.len(), 1);
    fixture.post("/aws/reset", json!({})).await;
    fixture.put("/aws/quota", json!({ "vcpus": 1 })).await;
    let (category, code) = refused(&instance_request("mark"), "token-3").await;
    assert_eq!((category, code.as_str()), (Category::Quota, "VcpuLimitExceeded"));
    fixture.post("/aws/reset", json!({})).await;
    fixture.put("/aws/throttle", json!({ "every": 1 })).await;
    assert_eq!(refused(&instance_request("mark"), "token-4").await.0, Category::Throttle);
    fixture.post("/aws/reset", json!({})).await;
    let unknown = InstanceRequest { key_name: Some("unknown".to_owned()), ..instance_request("mark") };
    let (category, code) = refused(&unknown, "token-5").await;
    assert_eq!((category, code.as_str()), (Category::NotFound, "InvalidKeyPair.NotFound"));

    let access =
        Access::Role { arn: "arn:aws:iam::123456789012:role/no-launch".to_owned(), external_id: None };
    let account = Account { access, ..role() };
    let error = fixture.aws.dry_run(&fake::place(&account), &instance_request("mark")).await.unwrap_err();
    assert!(error.is(Category::Permission), "{error}");
}

#[tokio::test]
async fn a_wrong_secret_is_named_as_such() {
    let fixture = SandboxedAws::new().await;
    let access = Access::Keys { id: "AKIASANDBOX".to_owned(), secret: "not it".into() };
    let account = Account { access, ..role() };
    let error = fixture.aws.identity(&place(&account)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "SignatureDoesNotMatch"));
    assert!(error.message.contains("secret access key"), "{error}");
}
