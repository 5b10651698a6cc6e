//! The Azure Resource Manager and Entra as an external system: tokens, resources in groups, operations that go on after
//! the answer, and instances that answer.
//!
//! The Resource Manager is at `/azure` and tokens are at `/azure/login/{tenant}`. Every UUID is a subscription, delegated
//! to the organisation `default` until it is said otherwise; that of the sandbox's own source has the image `rhel-9` in the
//! group `images`. What cannot be had from Azure can be had here:
//!
//! | path | what it does |
//! |---|---|
//! | `GET`, `PUT /azure/delay_times` | how long everything takes: `running_ms`, `network_ms`, `terminate_ms`, `reserve_ms`, `list_lag_ms`, `resources_lag_ms`, `register_ms` |
//! | `GET`, `PUT /azure/delegations` | the `orgs` that own a `subscription` or all others, with its `state`, `name`, `actions` and whether its services are `registered` |
//! | `GET`, `PUT /azure/capacity` | `instances` that can live at once, of a `location` or a `size` or of all; what is above fails at the `call` or in the `operation` (`at`) |
//! | `GET`, `PUT /azure/quota` | `vcpus` of a `family` or of all in each location of a subscription |
//! | `PUT /azure/throttle` | one of `every` so many calls, or calls of a `method`, is refused with `retry_after_s` |
//! | `PUT /azure/pages` | at most so many `items` on one page |
//! | `PUT /azure/rules` | `policy_denies` and `locked`: kinds of resources that cannot be made, or not be deleted |
//! | `GET`, `POST /azure/images` | managed images: `id`, `location`, `generation` |
//! | `POST`, `DELETE /azure/certificates` | certificates of the application, in PEM as `certificate`, whose keys sign assertions |
//! | `GET`, `POST`, `DELETE /azure/faults/fail` | calls of a `method` about a `resource` are refused with a `code`, a `message` and a `status` |
//! | `GET`, `POST`, `DELETE /azure/faults/lose` | such calls are carried out, and the connection is cut |
//! | `GET`, `POST`, `DELETE /azure/faults/die` | instances fail in their operation, with a `code` and a `message` |
//! | `GET`, `POST`, `DELETE /azure/faults/os_timeout` | instances run, and their operation fails |
//! | `GET`, `POST`, `DELETE /azure/faults/no_address` | public addresses never get an address |
//! | `GET`, `POST`, `DELETE /azure/faults/vanish` | the group of a call is gone, with all that is in it |
//! | `GET`, `POST`, `DELETE /azure/faults/revoke` | the token of a call is refused and forgotten |
//! | `GET`, `DELETE /azure/calls` | how many calls there were of each method and resource |
//! | `GET /azure/world` | all resources, without what is in their custom data |
//! | `POST /azure/reset` | sets all of the above back, but for delegations, certificates and resources |

mod call_error;
mod catalog;
mod certificates;
mod controls;
mod delay_times;
mod delete;
mod endpoint;
mod faults;
mod limits;
mod list;
mod login;
mod network;
mod operations;
mod put;
mod resource;
mod service_members;
mod subscriptions;
mod target;
mod view;
mod virtual_machine;
mod world;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::world::AzureCloud;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::loopback::Network;

#[derive(Debug, Clone)]
pub(crate) struct Azure {
    cloud: Arc<AzureCloud>,
}

impl Azure {
    /// Public addresses come from the network.
    pub(crate) fn new(
        addr: SocketAddr,
        clock: Arc<Clock>,
        ledger: Arc<Ledger>,
        network: Arc<Network>,
    ) -> Self {
        Azure { cloud: Arc::new(AzureCloud::new(format!("http://{addr}/azure"), clock, ledger, network)) }
    }

    /// Lets everything happen whose time has come.
    pub(crate) fn settle(&self) {
        drop(self.cloud.state());
    }

    /// Makes a managed image known, as the client that builds images leaves it.
    pub(crate) fn add_image(&self, id: &str, generation: &str) {
        self.cloud.state().add_image(id, None, generation, self.cloud.now());
    }

    pub(crate) fn routes(&self, faults: &Arc<Faults>) -> Router {
        endpoint::routes(&self.cloud, faults)
            .merge(login::routes(&self.cloud, faults))
            .merge(controls::routes(&self.cloud))
    }

    /// Serves the guests of the instances until it is told to stop.
    pub(crate) fn serve(&self, servers: &mut JoinSet<io::Result<()>>, stop: &CancellationToken) {
        let guests = crate::guests::run(Arc::clone(&self.cloud), stop.clone());
        servers.spawn(async {
            guests.await;
            Ok(())
        });
    }
}
