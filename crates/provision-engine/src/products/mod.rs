//! The products of this program.

pub(crate) mod demo;
pub(crate) mod launch;
pub(crate) mod runtimes;
pub(crate) mod serverless;

use std::sync::Arc;
use std::time::Duration;

use drivers::kubernetes::HttpClusters;
use engine::store::MemoryStore;
use workflows::Drivers;
use workflows::launch::Launches;
use workflows::notice::Notices;
use workflows::runtime::Runtimes;
use workflows::runtime::accounts::Accounts;
use workflows::serverless::Serverless;

/// Everything that steps need, none of it connected to anything.
fn no_drivers() -> Drivers {
    Drivers {
        greeter: Arc::new(demo::NoGreeter::default()),
        runtimes: Arc::new(Runtimes::default()),
        provisioner: Arc::new(runtimes::NoProvisioner),
        director: None,
        clusters: Arc::new(HttpClusters::new(Duration::from_secs(1))),
        accounts: Accounts::new(Accounts::shared_by_all(), Arc::new(MemoryStore::new())),
        override_sources: Vec::new(),
        external: Arc::default(),
        serverless: Arc::new(Serverless::unconnected()),
        launches: Arc::new(Launches::unconnected()),
        notices: Arc::new(Notices::none()),
    }
}
