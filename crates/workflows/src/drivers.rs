//! Everything a step may touch, and nothing more.

use std::sync::Arc;
use std::time::Duration;

use drivers::DriverError;
use drivers::director::{Director, HttpDirector};
use drivers::greeter::{Greeter, HttpGreeter};
use drivers::kubernetes::{Clusters, HttpClusters};
use drivers::opennebula::Options;
use drivers::provisioner::{HttpProvisioner, Provisioner};
use engine::WallClock;
use engine::store::Store;

use crate::launch::Launches;
use crate::notice::Notices;
use crate::runtime::Runtimes;
use crate::runtime::accounts::Accounts;
use crate::runtime::external::ExternalSteps;
use crate::runtime::override_source::OverrideSource;
use crate::serverless::{Serverless, ServerlessSettings};

#[derive(Clone)]
pub struct Drivers {
    pub greeter: Arc<dyn Greeter>,
    pub runtimes: Arc<Runtimes>,
    pub provisioner: Arc<dyn Provisioner>,
    pub director: Option<Arc<dyn Director>>,
    pub clusters: Arc<dyn Clusters>,
    pub accounts: Accounts,
    /// Where operators keep overrides, in the order in which they are applied.
    pub override_sources: Vec<Arc<dyn OverrideSource>>,
    /// Steps that services of others do.
    pub external: Arc<ExternalSteps>,
    pub serverless: Arc<Serverless>,
    pub launches: Arc<Launches>,
    pub notices: Arc<Notices>,
}

impl Drivers {
    /// Drivers for far sides that are all at one address, as the sandbox has them.
    pub fn at(
        url: &str,
        timeout: Duration,
        runtimes: Runtimes,
        store: Arc<dyn Store>,
    ) -> Result<Drivers, DriverError> {
        let clock = Arc::new(WallClock);
        let provisioner = HttpProvisioner::new(&format!("{url}/provisioner/graphql"), timeout)?;
        let director = HttpDirector::new(&format!("{url}/director/graphql"), None, clock, timeout)?;
        let nebula = Options { timeout, ..Options::beside(url) };
        let launches = Launches::beside(url, Arc::clone(&store), timeout)?;
        Ok(Drivers {
            greeter: Arc::new(HttpGreeter::new(url, timeout)?),
            runtimes: Arc::new(runtimes),
            provisioner: Arc::new(provisioner),
            director: Some(Arc::new(director)),
            clusters: Arc::new(HttpClusters::new(timeout)),
            accounts: Accounts::new(Accounts::shared_by_all(), store),
            override_sources: Vec::new(),
            external: Arc::default(),
            serverless: Arc::new(Serverless::new(&nebula, ServerlessSettings::default())?),
            launches: Arc::new(launches),
            notices: Arc::new(Notices::beside(url)?),
        })
    }
}
