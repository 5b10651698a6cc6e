//! EC2 and STS as an external system: the Query protocol with real signatures, and instances that answer.
//!
//! EC2 is at `/aws/ec2/{region}` and STS at `/aws/sts`. Who may call is told in `callers`. What cannot be had
//! from AWS can be had here:
//!
//! | path | what it does |
//! |---|---|
//! | `GET`, `PUT /aws/delay_times` | how long everything takes: `running_ms`, `address_ms`, `terminate_ms`, `visible_ms`, `forget_ms` |
//! | `GET`, `PUT /aws/capacity` | `instances` that can live at once, of a `region` or an `instance_type` or of all; `null` is no limit |
//! | `GET`, `PUT /aws/quota` | `vcpus` of an `account` in each region, or of every account |
//! | `GET`, `PUT /aws/throttle` | one of `every` so many calls, or calls of an `action`, is refused |
//! | `GET`, `PUT /aws/tokens` | with `ignored` a client token means nothing, as at moto: a repeated call makes more instances |
//! | `GET`, `PUT /aws/pages` | at most so many `items` on one page |
//! | `GET`, `PUT /aws/external_ids` | what roles demand: their names, and the external ids of those who may take them |
//! | `GET`, `POST`, `DELETE /aws/faults/fail` | calls of an `action` are refused with a `code` and a `message` |
//! | `GET`, `POST`, `DELETE /aws/faults/lose` | calls of an `action` are carried out, and the connection is cut |
//! | `GET`, `POST`, `DELETE /aws/faults/die` | instances are terminated in place of running, with a `code` and a `message` |
//! | `GET`, `POST`, `DELETE /aws/faults/no_address` | instances never get a public address |
//! | `GET`, `POST /aws/images` | images that were not built here: `ami`, `region`, `architecture`, `accounts` |
//! | `DELETE /aws/images/{region}/{ami}` | an image is gone |
//! | `GET`, `DELETE /aws/calls` | how many calls there were of each action, and the newest of them |
//! | `GET /aws/instances` | all instances of everybody, without what is in their user data |
//! | `POST /aws/reset` | sets all of the above back, but for images and instances |
//!
//! Faults happen `times` times, after `after` others, and can be narrowed to an `account`
//! and a `region`. A `fail` spares rehearsals, unless it is for them alone (`dry_run`).

mod action;
mod call_error;
mod callers;
mod calls;
mod catalog;
mod controls;
mod delay_times;
mod details;
mod endpoint;
mod faults;
mod filter;
mod form;
mod ids;
mod images;
mod instances;
mod key_pairs;
mod limits;
mod page;
mod public_key;
mod signature;
mod sts;
mod tags;
mod templates;
mod world;
mod xml;

use std::io;
use std::sync::Arc;

use axum::Router;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use self::images::{Architecture, Images};
use self::world::AwsCloud;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::loopback::Network;

#[derive(Debug, Clone)]
pub(crate) struct Aws {
    cloud: Arc<AwsCloud>,
}

impl Aws {
    /// Instances get their addresses from the network.
    pub(crate) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        Aws { cloud: Arc::new(AwsCloud::new(clock, ledger, network)) }
    }

    /// Where the image builder announces images.
    pub(crate) fn images(&self) -> &Arc<Images> {
        &self.cloud.images
    }

    /// Lets instances live on until now.
    pub(crate) fn settle(&self) {
        drop(self.cloud.aws_state());
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
