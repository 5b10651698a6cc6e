//! What the steps of all runtime workflows share, as it was configured.

use std::sync::Arc;
use std::time::Duration;

use engine::secret::SecretString;

use super::catalog::{Catalog, CatalogPlan};
use super::components::Components;

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
    pub service_manager: Option<ServiceManager>,
    pub audit_log: Option<AuditLog>,
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
            service_manager: None,
            audit_log: None,
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
