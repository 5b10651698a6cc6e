//! Microsoft Azure: the few calls to the Resource Manager that a launch needs.
//!
//! Our own application gets a token in our own tenant; customers delegate their subscriptions to it. Nothing is made in
//! one call here: each instance is an address, a network interface and a virtual machine, made one after the other.
//! All names follow from the launch tag, and every call looks at what is there before it goes on, so nothing has to be
//! remembered between two calls.

mod arm;
mod bodies;
mod catalog;
mod certificate;
mod create;
mod dry_run;
mod ensure;
mod error;
mod ids;
mod image;
mod instances;
mod launch;
mod operation;
mod options;
mod ownership;
mod permissions;
mod prepare;
mod provider;
mod resource;
mod sweep;
mod token;
mod vm;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::{Clock, WallClock};
use http_client::{DriverError, ExternalSystem};

pub use self::certificate::ClientCertificate;
pub use self::options::{Credential, Options};

use self::arm::Arm;
use self::ownership::Proofs;

const SYSTEM: ExternalSystem = ExternalSystem("azure");
/// A list that has not ended after so many pages goes round in circles.
const PAGES_MAX: usize = 100;
/// So many calls for one launch are under way at once.
const CALLS_AT_ONCE: usize = 8;

/// Azure, for all subscriptions. Clones share their connections and their token.
#[derive(Clone)]
pub struct Azure {
    arm: Arc<Arm>,
    proofs: Arc<Proofs>,
    ssh_from: Arc<[String]>,
    poll: Duration,
    tenant: Arc<str>,
}

impl Azure {
    pub fn new(options: &Options) -> Result<Azure, DriverError> {
        Azure::with_clock(options, Arc::new(WallClock))
    }

    /// A token is good for a while; this clock says for how long.
    pub fn with_clock(options: &Options, clock: Arc<dyn Clock>) -> Result<Azure, DriverError> {
        Ok(Azure {
            arm: Arc::new(Arm::new(options, clock)?),
            proofs: Arc::default(),
            ssh_from: options.ssh_from.clone().into(),
            poll: options.poll,
            tenant: options.tenant.as_str().into(),
        })
    }
}

impl fmt::Debug for Azure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Azure").finish_non_exhaustive()
    }
}
