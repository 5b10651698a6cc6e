//! The record of one service instance: what was asked for, and the runtime that stands for it.

use engine::secret::{ExposeSecret, Sealed, Sealer, SecretString};
use engine::{Phase, Resource, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{DEPROVISION, PROVISION, UPDATE};

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

    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// When the Provisioner was last asked for a runtime. Without a runtime id, it is unknown what came of it.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

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
            runtime_id: None,
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
            gone_at: None,
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
            (PROVISION | UPDATE, true) if good => Status::Ready,
            (PROVISION, true) if self.ready => Status::ResumeFailed,
            (PROVISION, true) => Status::ProvisionFailed,
            (UPDATE, false) => Status::Updating,
            (UPDATE, true) => Status::UpdateFailed,
            (DEPROVISION, false) if self.suspended => Status::Suspending,
            (DEPROVISION, false) => Status::Deprovisioning,
            (DEPROVISION, true) if self.suspended && good => Status::Suspended,
            (DEPROVISION, true) if self.suspended => Status::SuspendFailed,
            (DEPROVISION, true) => Status::DeprovisionFailed,
            _ => Status::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_cluster_is_short_and_always_the_same() {
        let name = shoot("8f4c");
        assert_eq!(name, shoot("8f4c"));
        assert_ne!(name, shoot("8f4d"));
        assert_eq!(name.len(), 9);
        assert!(name[2..].chars().all(|c| c.is_ascii_lowercase() || ('2'..='7').contains(&c)), "{name}");
    }
}
