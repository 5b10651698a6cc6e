//! Google Cloud: the calls to Compute Engine that a launch needs.
//!
//! Our own service account, or one of it for each organisation, works in the project of an account. A project must
//! prove that it belongs to the organisation (`ownership`), because the same service account is trusted by many.
//! Instances are made by one bulk call, whose answer is an operation and no instance. They have names that follow
//! from the tag of the launch, so that a call that is made twice cannot make them twice (`create`).

mod assertion;
mod bulk_insert;
mod call;
mod create;
mod disks;
mod dry_run;
mod error;
mod images;
mod instances;
mod json;
mod labels;
mod machine_types;
mod names;
mod operations;
mod options;
mod ownership;
mod paths;
mod provider;
mod quotas;
mod templates;
mod tokens;
mod user_data;
mod zones;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::{Clock, WallClock};
use http_client::{DriverError, ExternalSystem};

pub use self::options::{GoogleOptions as Options, KeySource, ServiceAccountKey};
pub use self::ownership::ORGANISATION_LABEL;

use self::call::Http;
use self::options::GoogleOptions;
use self::ownership::Ownership;
use self::tokens::Tokens;

const SYSTEM: ExternalSystem = ExternalSystem("google");
/// Calls about several instances that are made at once.
const CALLS_AT_ONCE: usize = 8;

/// Google Cloud, for all accounts. Clones share their connections and tokens.
#[derive(Clone)]
pub struct Google {
    http: Arc<Http>,
    tokens: Arc<Tokens>,
    ownership: Arc<Ownership>,
    clock: Arc<dyn Clock>,
    /// How long the cloud is left alone while it makes instances.
    poll: Duration,
    settle: Option<Duration>,
}

impl Google {
    pub fn new(options: &GoogleOptions) -> Result<Google, DriverError> {
        Google::with_clock(options, Arc::new(WallClock))
    }

    /// Tokens and proofs are good for a while; this clock says for how long.
    pub fn with_clock(options: &GoogleOptions, clock: Arc<dyn Clock>) -> Result<Google, DriverError> {
        Ok(Google {
            http: Arc::new(Http::new(options)?),
            tokens: Arc::new(Tokens::new(options, Arc::clone(&clock))?),
            ownership: Arc::new(Ownership::new(options)),
            clock,
            poll: options.poll,
            settle: options.settle,
        })
    }
}

impl fmt::Debug for Google {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Google").finish_non_exhaustive()
    }
}
