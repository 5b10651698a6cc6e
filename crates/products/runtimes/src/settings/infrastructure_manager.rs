//! Where Infrastructure Manager and its accounts are.

use std::path::PathBuf;

use ::config::{Period, SectionReader};

/// Where Infrastructure Manager is, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct InfrastructureManager {
    pub kubeconfig: Option<PathBuf>,
    pub namespace: String,
    pub timeout: Period,
    pub poll: Period,
    pub grace: Period,
    pub create_limit: Period,
    pub update_limit: Period,
    pub delete_limit: Period,
    pub kyma_template: Option<PathBuf>,
    pub kyma_limit: Period,
    pub accounts: BoundAccountSettings,
}

/// The Gardener project whose accounts are used.
#[derive(Debug, Clone)]
pub struct BoundAccountSettings {
    pub kubeconfig: Option<PathBuf>,
    pub namespace: String,
    pub rules: Option<PathBuf>,
    /// 0 is no limit.
    pub clusters_max: u64,
}

impl InfrastructureManager {
    pub(super) fn read(settings: &mut SectionReader<'_>) -> InfrastructureManager {
        InfrastructureManager {
            kubeconfig: settings.get("drivers.infrastructure_manager.kubeconfig"),
            namespace: settings.get("drivers.infrastructure_manager.namespace"),
            timeout: settings.get("drivers.infrastructure_manager.timeout"),
            poll: settings.get("drivers.infrastructure_manager.poll"),
            grace: settings.get("drivers.infrastructure_manager.grace"),
            create_limit: settings.get("drivers.infrastructure_manager.create_limit"),
            update_limit: settings.get("drivers.infrastructure_manager.update_limit"),
            delete_limit: settings.get("drivers.infrastructure_manager.delete_limit"),
            kyma_template: settings.get("drivers.infrastructure_manager.kyma_template"),
            kyma_limit: settings.get("drivers.infrastructure_manager.kyma_limit"),
            accounts: BoundAccountSettings {
                kubeconfig: settings.get("drivers.infrastructure_manager.accounts.kubeconfig"),
                namespace: settings.get("drivers.infrastructure_manager.accounts.namespace"),
                rules: settings.get("drivers.infrastructure_manager.accounts.rules"),
                clusters_max: settings.get("drivers.infrastructure_manager.accounts.clusters_max"),
            },
        }
    }
}
