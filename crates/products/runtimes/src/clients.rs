//! Everything a step may touch, and nothing more.

use std::sync::Arc;
use std::time::Duration;

use director::{Director, HttpDirector};
use engine::WallClock;
use engine::store::Store;
use http_client::DriverError;
use kubernetes::{Clusters, HttpClusters};
use provisioner::{HttpProvisioner, Provisioner};

use crate::model::RuntimesSettings;
use crate::model::accounts::Accounts;
use crate::model::override_source::OverrideSource;
use crate::workflows::external::ExternalSteps;

#[derive(Clone)]
pub struct Clients {
    pub runtimes: Arc<RuntimesSettings>,
    pub provisioner: Arc<dyn Provisioner>,
    pub director: Option<Arc<dyn Director>>,
    pub clusters: Arc<dyn Clusters>,
    pub accounts: Accounts,
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
            accounts: Accounts::new(Accounts::shared_by_all(), store),
            override_sources: Vec::new(),
            external: Arc::default(),
        })
    }
}
