//! `Clients`: the external systems that steps may call.

use std::sync::Arc;
use std::time::Duration;

use director::{Director, HttpDirector};
use engine::WallClock;
use engine::store::Store;
use http_client::DriverError;
use infrastructure_manager::RuntimeResources;
use kubernetes::{Clusters, HttpClusters};
use provisioner::{HttpProvisioner, Provisioner};

use crate::model::RuntimesSettings;
use crate::model::accounts::Accounts;
use crate::model::bound_accounts::BoundAccounts;
use crate::model::override_source::OverrideSource;
use crate::model::records::Records;
use crate::workflows::external::ExternalSteps;

#[derive(Clone)]
pub struct Clients {
    pub runtimes: Arc<RuntimesSettings>,
    pub provisioner: Arc<dyn Provisioner>,
    pub director: Option<Arc<dyn Director>>,
    /// Infrastructure Manager, where it is configured.
    pub runtime_resources: Option<Arc<dyn RuntimeResources>>,
    pub clusters: Arc<dyn Clusters>,
    pub accounts: Accounts,
    /// Accounts that are resources of a Gardener project, where that is configured.
    pub bound_accounts: Option<BoundAccounts>,
    pub records: Records,
    /// Where operators keep overrides, in the order in which they are applied.
    pub override_sources: Vec<Arc<dyn OverrideSource>>,
    /// Steps that services of others do.
    pub external: Arc<ExternalSteps>,
}

impl Clients {
    /// Clients for external systems that are all at one address, as the sandbox has them.
    pub fn at(
        url: &str,
        timeout: Duration,
        runtimes: RuntimesSettings,
        store: Arc<dyn Store>,
    ) -> Result<Clients, DriverError> {
        let clock = Arc::new(WallClock);
        let provisioner = HttpProvisioner::new(&format!("{url}/provisioner/graphql"), timeout)?;
        let director = HttpDirector::new(&format!("{url}/director/graphql"), None, clock, timeout)?;
        Ok(Clients {
            runtimes: Arc::new(runtimes),
            provisioner: Arc::new(provisioner),
            director: Some(Arc::new(director)),
            clusters: Arc::new(HttpClusters::new(timeout)),
            runtime_resources: None,
            bound_accounts: None,
            accounts: Accounts::new(Accounts::shared_by_all(), Arc::clone(&store)),
            records: Records::new(store),
            override_sources: Vec::new(),
            external: Arc::default(),
        })
    }
}
