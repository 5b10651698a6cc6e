//! A sandbox with an image in a subscription, and a client of its Azure.

use std::time::Duration;

use azure::{Azure, Options};
use client_tests::TestSandbox;
use cloud::{
    Access, Account, CloudAccount, CloudError, CloudInstance, Created, InstanceRequest, KeyMaterial, Part,
    Provider, ProviderKind,
};
use serde_json::{Value, json};

pub(crate) const SUBSCRIPTION: &str = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
pub(crate) const OTHER: &str = "11111111-2222-4333-8444-555555555555";
pub(crate) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGASG1mVRNQdz4oI1DHtsJOpwUp+yfyo+W4UYma5fa/3";
/// So often a test looks again. Each time, a second has passed for the external system.
const LOOKS_MAX: usize = 60;
const KINDS: [&str; 7] = ["vm", "nic", "public_ip", "disk", "nsg", "network", "group"];

pub(crate) struct AzureFixture {
    pub(crate) shared: TestSandbox,
    pub(crate) azure: Azure,
    pub(crate) account: Account,
}

pub(crate) fn image() -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/images/rhel")
}

pub(crate) fn account(org: &str, subscription: &str) -> Account {
    Account {
        org: org.to_owned(),
        source: "source".to_owned(),
        provider: ProviderKind::Azure,
        access: Access::Name(subscription.to_owned()),
    }
}

pub(crate) fn request(launch_tag: &str, amount: u32) -> InstanceRequest {
    InstanceRequest {
        image: Some(image()),
        instance_type: Some("Standard_B1s".to_owned()),
        least: amount,
        most: amount,
        key: Some(KeyMaterial { line: KEY.to_owned() }),
        user_data: Some("#cloud-config\n".to_owned()),
        tags: vec![("rh-rid".to_owned(), "r-1".to_owned()), ("rh-org".to_owned(), "default".to_owned())],
        ..InstanceRequest::new(launch_tag)
    }
}

/// The same in a group that is the customer's own.
pub(crate) fn in_named_group(launch_tag: &str, amount: u32) -> InstanceRequest {
    InstanceRequest { resource_group: Some("images".to_owned()), ..request(launch_tag, amount) }
}

impl AzureFixture {
    pub(crate) async fn new() -> AzureFixture {
        let shared = TestSandbox::new().await;
        let azure = Azure::new(&Options::beside(&shared.sandbox.url())).unwrap();
        let fixture = AzureFixture { shared, azure, account: account("default", SUBSCRIPTION) };
        fixture.shared.post("/azure/images", &json!({"id": image(), "location": "eastus"})).await;
        fixture
    }

    pub(crate) fn place(&self) -> CloudAccount<'_> {
        CloudAccount {
            account: &self.account,
            region: "eastus",
            session: "0192f0c1-0000-7000-8000-000000000001",
        }
    }

    pub(crate) async fn fault(&self, kind: &str, fault: Value) {
        self.shared.post(&format!("/azure/faults/{kind}"), &fault).await;
    }

    pub(crate) async fn pass(&self, ms: u64) {
        self.shared.post("/clock", &json!({"advance_ms": ms})).await;
    }

    /// What stands in the ledger, by kind.
    pub(crate) async fn standing(&self, kind: &str) -> u64 {
        let summary = self.shared.get("/ledger/summary").await;
        summary[format!("arm/{kind}")]["standing"].as_u64().unwrap_or_default()
    }

    pub(crate) async fn made(&self, kind: &str) -> u64 {
        let summary = self.shared.get("/ledger/summary").await;
        summary[format!("arm/{kind}")]["made"].as_u64().unwrap_or_default()
    }

    /// Nothing of any launch is left.
    pub(crate) async fn assert_nothing_stands(&self) {
        for kind in KINDS {
            assert_eq!(self.standing(kind).await, 0, "{kind}");
        }
    }

    pub(crate) async fn prepared(&self, request: &InstanceRequest) -> Result<(), CloudError> {
        for _ in 0..LOOKS_MAX {
            match self.azure.prepare(&self.place(), request).await? {
                None => return Ok(()),
                Some(_) => self.pass(1000).await,
            }
        }
        panic!("the network of {} does not get ready", request.launch_tag);
    }

    /// Calls `create` as a step does, until the answer is final.
    pub(crate) async fn created(&self, request: &InstanceRequest) -> Result<Vec<CloudInstance>, CloudError> {
        for _ in 0..LOOKS_MAX {
            let Created { instances, again, .. } = self.azure.create(&self.place(), request, "key").await?;
            if again.is_none() {
                return Ok(instances);
            }
            self.pass(1000).await;
        }
        panic!("the instances of {} do not get ready", request.launch_tag);
    }

    pub(crate) async fn launched(&self, request: &InstanceRequest) -> Vec<CloudInstance> {
        self.prepared(request).await.unwrap();
        self.created(request).await.unwrap()
    }

    /// Undoes a launch as a step does: the instances, and then all that is left.
    pub(crate) async fn undone(&self, request: &InstanceRequest) {
        for _ in 0..LOOKS_MAX {
            let found = self.azure.find(&self.place(), request).await.unwrap();
            if found.is_empty() {
                break;
            }
            let ids: Vec<String> = found.into_iter().map(|instance| instance.id).collect();
            self.azure.delete(&self.place(), &ids).await.unwrap();
            self.pass(1000).await;
        }
        let mut left = Vec::new();
        for _ in 0..LOOKS_MAX {
            left = self.swept(request).await;
            if left.is_empty() {
                return;
            }
            self.pass(5000).await;
        }
        panic!("{left:?} is left of {}", request.launch_tag);
    }

    pub(crate) async fn swept(&self, request: &InstanceRequest) -> Vec<Part> {
        self.azure.sweep(&self.place(), request).await.unwrap()
    }

    pub(crate) async fn calls(&self, what: &str) -> u64 {
        self.shared.get("/azure/calls").await[what].as_u64().unwrap_or_default()
    }
}

pub(crate) fn is_soon(after: Option<Duration>) -> bool {
    after.is_some_and(|after| after < Duration::from_secs(5))
}
