//! The record of one service instance: what was asked for, and the runtime that stands for it.

use engine::secret::{ExposeSecret, Sealed, Sealer, SecretString};
use engine::{Phase, Resource, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{DEPROVISION, PROVISION, UPDATE, UPGRADE};
use crate::backend::BackendKind;

/// Kept as long as the instance exists, and as a tombstone after that. What a user sent is sealed: it is not known
/// which of it is a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub instance_id: String,
    pub service_id: String,
    pub plan_id: String,
    pub plan: String,
    pub provider: String,
    pub region: String,
    /// The region of the platform that asks, from the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_region: Option<String>,
    /// The platform that asked for it. Empty in records of earlier releases.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platform: String,
    pub account: String,
    pub subaccount: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Tells one request from another without keeping it.
    pub digest: String,
    /// JSON of the parameters.
    pub parameters: Sealed,
    /// JSON of the context.
    pub context: Sealed,
    /// The name of the cluster.
    pub shoot: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_version: Option<String>,

    /// Which back end makes its runtimes. Nothing before the first one, and in records of earlier releases, which had the
    /// Provisioner alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// Tells the resource of the runtime from another of the same name, where the back end keeps resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_uid: Option<String>,
    /// When the back end was last asked for a runtime. Without a runtime id, it is unknown what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Runtimes that this instance had before it was suspended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_runtimes: Vec<String>,
    /// The cloud account in which the cluster runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    /// Whether it has ever been provisioned to the end.
    #[serde(default)]
    pub ready: bool,
    #[serde(default)]
    pub suspended: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_at: Option<Timestamp>,
    /// Clean-up steps that have to be tried again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_completed: Vec<String>,
    /// Bindings whose credentials are taken back before the cluster goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ending_bindings: Vec<String>,
    /// Changes of its plan and of its account, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

/// A change that operators want to find again after years.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub kind: ActionKind,
    pub old: String,
    pub new: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    PlanUpdate,
    SubaccountMovement,
}

/// More than these are not kept of one instance.
const ACTIONS_MAX: usize = 100;

impl Resource for InstanceRecord {
    const KIND: &'static str = "runtime";

    fn labels(&self) -> Vec<(&'static str, String)> {
        let mut labels = vec![
            ("account", self.account.clone()),
            ("subaccount", self.subaccount.clone()),
            ("region", self.region.clone()),
            ("shoot", self.shoot.clone()),
            ("plan", self.plan.clone()),
            ("suspended", self.suspended.to_string()),
            ("expired", self.expired_at.is_some().to_string()),
        ];
        labels.extend(self.runtime_id.clone().map(|id| ("runtime_id", id)));
        labels.extend(self.cloud_account.clone().map(|name| ("cloud_account", name)));
        let how = if self.not_completed.is_empty() { "complete" } else { "incomplete" };
        labels.extend(self.gone_at.map(|_| ("gone", how.to_owned())));
        labels
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.expires_at.filter(|_| self.expired_at.is_none() && self.gone_at.is_none())
    }
}

impl InstanceRecord {
    /// A record with nothing in it but what every record has.
    pub fn new(
        instance_id: &str,
        service_id: &str,
        plan_id: &str,
        parameters: Sealed,
        context: Sealed,
    ) -> InstanceRecord {
        InstanceRecord {
            instance_id: instance_id.to_owned(),
            service_id: service_id.to_owned(),
            plan_id: plan_id.to_owned(),
            plan: String::new(),
            provider: String::new(),
            region: String::new(),
            platform_region: None,
            platform: String::new(),
            account: String::new(),
            subaccount: String::new(),
            user: String::new(),
            digest: String::new(),
            parameters,
            context,
            shoot: shoot(instance_id),
            maintenance_version: None,
            backend: None,
            runtime_id: None,
            runtime_uid: None,
            asked_at: None,
            former_runtimes: Vec::new(),
            cloud_account: None,
            kubeconfig: None,
            dashboard_url: None,
            ready: false,
            suspended: false,
            expires_at: None,
            expired_at: None,
            not_completed: Vec::new(),
            ending_bindings: Vec::new(),
            actions: Vec::new(),
            gone_at: None,
        }
    }

    /// For lists of operations: the name of the cluster. What its owner calls it is sealed with the other parameters.
    pub fn shown_name(&self) -> Option<&str> {
        Some(self.shoot.as_str()).filter(|name| !name.is_empty())
    }

    /// Notes a change, if it is one.
    pub fn note(&mut self, kind: ActionKind, old: &str, new: &str, at: Timestamp) {
        if old != new {
            let surplus = (self.actions.len() + 1).saturating_sub(ACTIONS_MAX);
            self.actions.drain(..surplus);
            self.actions.push(Action { kind, old: old.to_owned(), new: new.to_owned(), at });
        }
    }

    /// The name under which operations on this instance exclude each other.
    pub fn resource(instance_id: &str) -> String {
        format!("runtime:{instance_id}")
    }

    /// The same for the same instance and label for ever, for what outlives the operation that makes it.
    pub fn token(&self, label: &str) -> String {
        let digest = Sha256::digest(format!("{}\n{label}", self.instance_id).as_bytes());
        http_client::hex(&digest[..16])
    }

    pub fn parameters(&self, sealer: &Sealer) -> Result<Map<String, Value>, String> {
        open_json(&self.parameters, sealer)
    }

    pub fn context(&self, sealer: &Sealer) -> Result<Map<String, Value>, String> {
        open_json(&self.context, sealer)
    }
}

pub fn seal_json(map: &Map<String, Value>, sealer: &Sealer) -> Sealed {
    sealer.seal(&SecretString::from(Value::Object(map.clone()).to_string()))
}

fn open_json(sealed: &Sealed, sealer: &Sealer) -> Result<Map<String, Value>, String> {
    let text = sealer.open(sealed).map_err(|error| error.to_string())?;
    // The text may hold secrets, so the error must not quote it.
    serde_json::from_str(text.expose_secret()).map_err(|_| "a sealed record is not JSON".to_owned())
}

/// The name of the cluster: short, because names of other things are made from it, and the same whenever the
/// instance is asked for.
fn shoot(instance_id: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const CHARS: usize = 7;
    let digest = Sha256::digest(instance_id.as_bytes());
    let letters = digest.iter().take(CHARS).map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    format!("c-{}", letters.collect::<String>())
}

/// The name of the cluster as Infrastructure Manager's users know it: seven hexadecimal digits, with letters in front of a
/// number. `salt` gives another one where it is taken.
pub(crate) fn hex_shoot(instance_id: &str, salt: u32) -> String {
    const DIGITS: usize = 7;
    let digest = Sha256::digest(format!("{instance_id}\n{salt}").as_bytes());
    let name = &http_client::hex(&digest[..4])[..DIGITS];
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("c-{name}") } else { name.to_owned() }
}

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Provisioning,
    ProvisionFailed,
    Ready,
    Updating,
    /// Usable, with its old parameters.
    UpdateFailed,
    Suspending,
    /// The cluster may still be there: it can be suspended or deleted again.
    SuspendFailed,
    Suspended,
    Resuming,
    ResumeFailed,
    Deprovisioning,
    DeprovisionFailed,
    /// A tombstone.
    Gone,
}

impl InstanceRecord {
    /// Read from the record and from the newest operation on it.
    pub fn status(&self, workflow: Option<&str>, phase: Option<Phase>) -> Status {
        if self.gone_at.is_some() {
            return Status::Gone;
        }
        let (Some(workflow), Some(phase)) = (workflow, phase) else { return Status::Ready };
        let good = phase == Phase::Succeeded;
        match (workflow, phase.is_final()) {
            (PROVISION, false) if self.ready => Status::Resuming,
            (PROVISION, false) => Status::Provisioning,
            // A change that queued behind a provisioning; what that came to, the record says.
            (UPDATE, false) if !self.ready => Status::Provisioning,
            (UPDATE, true) if !self.ready => Status::ProvisionFailed,
            (UPDATE | DEPROVISION, false) if self.suspended => Status::Suspending,
            (UPDATE | DEPROVISION, true) if self.suspended => {
                // A change that queued behind a suspension; whether that left a runtime, the record says.
                let is_over = if workflow == UPDATE { self.runtime_id.is_none() } else { good };
                if is_over { Status::Suspended } else { Status::SuspendFailed }
            }
            (PROVISION | UPDATE | UPGRADE, true) if good => Status::Ready,
            (PROVISION, true) if self.ready => Status::ResumeFailed,
            (PROVISION, true) => Status::ProvisionFailed,
            (UPDATE | UPGRADE, false) => Status::Updating,
            (UPDATE | UPGRADE, true) => Status::UpdateFailed,
            (DEPROVISION, false) => Status::Deprovisioning,
            (DEPROVISION, true) => Status::DeprovisionFailed,
            _ => Status::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_cluster_begins_with_a_letter() {
        for id in 0..100 {
            let name = hex_shoot(&id.to_string(), 0);
            let digits = name.strip_prefix("c-").unwrap_or(&name);
            assert!(digits.len() == 7 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
            assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
            assert_ne!(name, hex_shoot(&id.to_string(), 1));
        }
    }

    #[test]
    fn the_name_of_a_cluster_is_short_and_always_the_same() {
        let name = shoot("8f4c");
        assert_eq!(name, shoot("8f4c"));
        assert_ne!(name, shoot("8f4d"));
        assert_eq!(name.len(), 9);
        assert!(name[2..].chars().all(|c| c.is_ascii_lowercase() || ('2'..='7').contains(&c)), "{name}");
    }
}
