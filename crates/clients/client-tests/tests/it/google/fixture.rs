//! The client and a sandbox of its own.

use client_tests::TestSandbox;
use cloud::{
    Access, Account, CloudAccount, CloudError, CloudInstance, Created, InstanceRequest, KeyMaterial,
    Provider, ProviderKind,
};
use google::{Google, Options};
use serde_json::{Value, json};

pub(crate) const PROJECT: &str = "sandbox-project-7";
pub(crate) const ZONE: &str = "us-central1-a";
pub(crate) const IMAGE: &str = "projects/sandbox-images/global/images/composer-api-7";
/// So often a test asks again. Each time, some time has passed for the external system.
const TRIES_MAX: usize = 200;
const STEP_MS: u64 = 10;

pub(crate) struct SandboxedGoogle {
    pub(crate) world: TestSandbox,
    pub(crate) google: Google,
}

impl SandboxedGoogle {
    pub(crate) async fn new() -> SandboxedGoogle {
        let world = TestSandbox::new().await;
        let google = Google::new(&Options::beside(&world.sandbox.url())).unwrap();
        SandboxedGoogle { world, google }
    }

    pub(crate) async fn pass(&self, ms: u64) {
        self.world.post("/clock", &json!({ "advance_ms": ms })).await;
    }

    pub(crate) async fn fault(&self, kind: &str, fault: Value) {
        self.world.post(&format!("/gcp/faults/{kind}"), &fault).await;
    }

    /// Asks until the cloud has an answer.
    pub(crate) async fn created(
        &self,
        account: &Account,
        request: &InstanceRequest,
        key: &str,
    ) -> Result<Created, CloudError> {
        for _ in 0..TRIES_MAX {
            let created = self.google.create(&place(account), request, key).await?;
            if created.again.is_none() {
                return Ok(created);
            }
            assert!(created.instances.is_empty(), "{created:?}");
            self.pass(STEP_MS).await;
        }
        panic!("the cloud does not come to an end");
    }

    /// Takes a launch back, as the undo of a step does, and answers how many looks it took.
    pub(crate) async fn take_back(&self, account: &Account, request: &InstanceRequest) -> usize {
        let place = place(account);
        for number in 1..TRIES_MAX {
            let found = self.google.find(&place, request).await.unwrap();
            if found.is_empty() {
                if self.google.sweep(&place, request).await.unwrap().is_empty() {
                    return number;
                }
            } else {
                let ids: Vec<String> = found.into_iter().map(|one| one.id).collect();
                self.google.delete(&place, &ids).await.unwrap();
            }
            self.pass(STEP_MS).await;
        }
        panic!("the launch cannot be taken back");
    }

    /// What was made, and what of it stands, of a kind of thing.
    pub(crate) async fn counts(&self, kind: &str) -> (u64, u64) {
        let summary = self.world.get("/ledger/summary").await;
        let counts = &summary[format!("gce/{kind}")];
        (counts["made"].as_u64().unwrap_or_default(), counts["standing"].as_u64().unwrap_or_default())
    }

    pub(crate) async fn assert_standing(&self, count: u64) {
        assert_eq!(self.counts("instance").await.1, count, "instances");
        assert_eq!(self.counts("disk").await.1, count, "disks");
    }

    pub(crate) async fn calls(&self, action: &str) -> u64 {
        self.world.get("/gcp/calls").await["counts"][action].as_u64().unwrap_or_default()
    }

    pub(crate) async fn instances(&self) -> Vec<Value> {
        self.world.get("/gcp/instances").await["instances"].as_array().unwrap().clone()
    }
}

pub(crate) fn account() -> Account {
    account_of("default", PROJECT)
}

pub(crate) fn account_of(org: &str, project: &str) -> Account {
    let access = Access::Name(project.to_owned());
    Account { org: org.to_owned(), source: "source-7".to_owned(), provider: ProviderKind::Gcp, access }
}

pub(crate) fn place(account: &Account) -> CloudAccount<'_> {
    CloudAccount { account, region: ZONE, session: "launch-1" }
}

pub(crate) fn request(tag: &str, count: u32) -> InstanceRequest {
    InstanceRequest {
        name: Some("web".to_owned()),
        image: Some(IMAGE.to_owned()),
        instance_type: Some("e2-small".to_owned()),
        least: count,
        most: count,
        key: Some(KeyMaterial { line: "ssh-ed25519 AAAAC3Nza".to_owned() }),
        user_data: Some("#!/bin/sh\necho hello\n".to_owned()),
        tags: vec![("rh-org".to_owned(), "Org 7".to_owned())],
        ..InstanceRequest::new(tag)
    }
}

pub(crate) fn ids(instances: &[CloudInstance]) -> Vec<String> {
    let mut ids: Vec<String> = instances.iter().map(|instance| instance.id.clone()).collect();
    ids.sort_unstable();
    ids
}
