//! Google Cloud as an external system: Compute Engine with operations and bulk calls, its tokens, and its projects.
//!
//! Compute Engine is at `/gcp/compute/v1`, the token service at `/gcp/token`, tokens of other service accounts at
//! `/gcp/iamcredentials/v1` and projects at `/gcp/cloudresourcemanager/v3`. The service account of `tokens` may call;
//! it is let in by projects that were set up, of which there is one to begin with. What cannot be had from Google can
//! be had here:
//!
//! | path | what it does |
//! |---|---|
//! | `GET /gcp/key` | the key file of the service account that may call; the first request generates the key |
//! | `GET`, `PUT /gcp/pace` | how long everything takes: `create_ms`, `running_ms`, `rollback_ms`, `terminate_ms`, `visible_ms`, `request_id_ms`, `operation_ms` |
//! | `GET`, `PUT /gcp/capacity` | `instances` that can live at once, of a `zone` or a `machine_type` or of all; `at_once` refuses the call itself |
//! | `GET`, `PUT /gcp/rate` | `changes` and `reads` of a project in a minute, and `bulks` at once |
//! | `PUT /gcp/pages` | at most so many `items` on one page; with `begins_empty` every list has an empty page first |
//! | `GET /gcp/projects`, `PUT`, `DELETE /gcp/projects/{project}` | `labels`, `trusted` service accounts, `denied` permissions, `quotas`, `os_login`, `api_off`, `no_default_network`, `subnetworks` |
//! | `GET`, `POST /gcp/images` | images: `project`, `name`, `family`, `status`, `architecture`, `shared_with`, `expired` |
//! | `POST /gcp/templates` | instance templates: `project`, `region`, `name`, `properties` |
//! | `GET`, `POST`, `DELETE /gcp/faults/fail` | calls of an `action` are refused with a `status` and a `code` |
//! | `GET`, `POST`, `DELETE /gcp/faults/lose` | calls of an `action` are carried out, and the connection is cut |
//! | `GET`, `POST`, `DELETE /gcp/faults/fail_inside` | instances of a bulk call are not made, with a `code` in the operation |
//! | `GET`, `POST`, `DELETE /gcp/faults/die` | instances of a bulk call die in place of running, while others run |
//! | `GET`, `POST`, `DELETE /gcp/faults/no_address` | instances never get a public address |
//! | `GET`, `POST`, `DELETE /gcp/faults/undeletable` | a deletion fails in its operation, and the instance stays |
//! | `GET`, `POST`, `DELETE /gcp/faults/leave_disk` | an instance ends, and its disk stays |
//! | `GET`, `DELETE /gcp/calls` | how many calls there were of each action, and the newest of them |
//! | `GET /gcp/instances`, `GET /gcp/disks` | all of them, whosever they are |
//! | `POST /gcp/instances/{project}/{zone}/{name}/poweroff` | the guest switches itself off |
//! | `PUT /gcp/instances/{project}/{zone}/{name}/labels` | an instance gets other labels |
//! | `POST /gcp/tokens/revoke` | all tokens that were given are no longer good |
//! | `POST /gcp/reset` | sets controls, faults and counts back |
//!
//! Faults happen `times` times, after `after` others, and can be narrowed to a `project`.

mod account_key;
mod bulk;
mod call_error;
mod calls;
mod catalog;
mod controls;
mod delay_times;
mod endpoint;
mod faults;
mod filter;
mod guests;
mod images;
mod instances;
mod limits;
mod lives;
mod operations;
mod page;
mod projects;
mod query;
mod resources;
mod templates;
mod tokens;
mod world;

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::world::GoogleCloud;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::loopback::Network;

#[derive(Debug, Clone)]
pub(crate) struct Google {
    cloud: Arc<GoogleCloud>,
}

impl Google {
    /// Instances get their addresses from the network.
    pub(crate) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        Google { cloud: Arc::new(GoogleCloud::new(clock, ledger, network)) }
    }

    /// Lets instances live on until now.
    pub(crate) fn settle(&self) {
        drop(self.cloud.google_state());
    }

    pub(crate) fn routes(&self, faults: &Arc<Faults>) -> Router {
        endpoint::routes(&self.cloud, faults).merge(controls::routes(&self.cloud))
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
