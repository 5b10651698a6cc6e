//! What the steps of all runtime workflows share, as it was configured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::secret::SecretString;
use serde_json::Value;

use super::catalog::{Catalog, CatalogPlan};
use super::components::Components;
use super::orchestration::window::Windows;

#[derive(Debug, Clone)]
pub struct RuntimesSettings {
    pub catalog: Arc<Catalog>,
    pub components: Arc<Components>,
    /// Of runtimes whose request names none.
    pub kyma_version: String,
    pub kubernetes_version: String,
    /// The longest pause between two looks at an operation of the Provisioner. The first ones are shorter.
    pub poll_max: Duration,
    /// How long after a call that brought no answer its effect may still appear.
    pub settle: Duration,
    pub unknown_outcome: UnknownOutcome,
    /// What the service account of a binding may do in the cluster.
    pub cluster_role: String,
    /// When a runtime may be upgraded.
    pub windows: Windows,
    pub service_manager: Option<ServiceManager>,
    pub audit_log: Option<AuditLog>,
    pub infrastructure_manager: ManagerSettings,
}

/// How the steps wait for Infrastructure Manager.
#[derive(Debug, Clone)]
pub struct ManagerSettings {
    /// The longest pause between two looks at a resource. News of a watch end it earlier.
    pub poll: Duration,
    /// How long a status from before a change may still be there after it.
    pub grace: Duration,
    pub create_limit: Duration,
    pub update_limit: Duration,
    pub delete_limit: Duration,
    /// With it a Kyma resource is written for each runtime.
    pub kyma: Option<KymaTemplate>,
    /// How long the deletion of a Kyma resource is waited for.
    pub kyma_limit: Duration,
}

/// What the Kyma resource of a runtime is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct KymaTemplate {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub spec: Value,
}

impl KymaTemplate {
    pub(crate) const BYTES_MAX: usize = 1024 * 1024;
}

impl Default for ManagerSettings {
    fn default() -> Self {
        ManagerSettings {
            poll: Duration::from_mins(5),
            grace: Duration::from_mins(2),
            create_limit: Duration::from_mins(60),
            update_limit: Duration::from_mins(180),
            delete_limit: Duration::from_mins(60),
            kyma: None,
            kyma_limit: Duration::from_mins(15),
        }
    }
}

/// What to do when it is unknown whether a runtime was made, because there is no Director to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownOutcome {
    /// Wait until an operator has looked.
    Ask,
    /// Make one, and accept that there may be two.
    CreateAgain,
}

/// The service manager that runtimes get when a request brings none, or always.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    pub url: String,
    pub username: String,
    pub password: SecretString,
    /// Also when the request brings one.
    pub always: bool,
}

/// Where runtimes send their audit log.
#[derive(Debug, Clone)]
pub struct AuditLog {
    pub url: String,
    pub username: String,
    pub password: SecretString,
}

impl Default for RuntimesSettings {
    fn default() -> Self {
        RuntimesSettings {
            catalog: Arc::new(Catalog::built_in()),
            components: Arc::new(Components::built_in()),
            kyma_version: "1.24.8".into(),
            kubernetes_version: "1.21.5".into(),
            poll_max: Duration::from_secs(30),
            settle: Duration::from_secs(30),
            unknown_outcome: UnknownOutcome::Ask,
            cluster_role: "cluster-admin".into(),
            windows: Windows::default(),
            service_manager: None,
            audit_log: None,
            infrastructure_manager: ManagerSettings::default(),
        }
    }
}

const POLL_FIRST: Duration = Duration::from_millis(200);

impl RuntimesSettings {
    pub fn plan(&self, id: &str) -> Result<&CatalogPlan, String> {
        self.catalog.plan(id).ok_or_else(|| {
            format!("the catalog has no plan {id} any longer; put it back until its last instance is gone")
        })
    }

    /// How long to leave something alone that has been going on for so long: often in the beginning, rarely
    /// later.
    pub fn pause(&self, going_on_for: Duration) -> Duration {
        (going_on_for / 10).clamp(POLL_FIRST.min(self.poll_max), self.poll_max)
    }
}
