//! The Open Service Broker API: platforms ask here for runtimes, and for credentials to them.

mod auth;
mod bind;
mod binding_last_operation;
mod body;
mod catalog;
mod change;
mod checks;
mod decide;
mod deprovision;
mod error;
mod fetch;
mod fetch_binding;
mod guard;
mod headers;
mod identity;
mod instance_path;
mod last_operation;
mod limits;
pub(crate) mod openapi;
mod progress;
mod provision;
mod router;
mod standing;
mod submit;
mod unbind;
mod update;
mod update_queue;
mod version;
mod watch;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::model::catalog::Catalog;

pub use openapi::openapi;
pub(crate) use router::router;

use server::Shared;

/// How the broker behaves; every value has a default that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsbSettings {
    /// Answers as the broker whose place this takes, also where that differs from the specification.
    pub compat_keb: bool,
    /// The version of the specification, major and minor, whose fields the catalog has. Newer ones are left out.
    pub catalog_level: (u8, u8),
    /// Asking for the last operation of a deleted instance or binding is answered with 410 instead of success.
    pub gone: bool,
    pub missing_version: MissingVersion,
    /// How long a platform is asked to wait before it looks at an operation again.
    pub retry_after: Duration,
    /// How long a call that wants credentials at once, or them taken back at once, is kept waiting.
    pub bind_wait: Duration,
    /// How long a platform may poll, as the catalog says it: the deadline of operations and a quarter more.
    pub polling_max: Duration,
}

/// The answer to a request that does not say which version of the specification it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingVersion {
    /// 412, which all checkers of brokers demand.
    PreconditionFailed,
    /// 400, which the specification allows since 2.16.
    BadRequest,
}

impl Default for OsbSettings {
    fn default() -> Self {
        OsbSettings {
            compat_keb: false,
            catalog_level: (2, 17),
            gone: false,
            missing_version: MissingVersion::PreconditionFailed,
            retry_after: Duration::from_secs(5),
            bind_wait: Duration::from_secs(15),
            polling_max: Duration::from_hours(30),
        }
    }
}

/// What all requests to the broker share.
pub(crate) struct BrokerShared {
    app: Shared,
    settings: OsbSettings,
    catalog: Arc<Catalog>,
    listings: catalog::CatalogListings,
}

/// How handlers get it.
type BrokerState = Arc<BrokerShared>;

impl BrokerShared {
    fn settings(&self) -> &OsbSettings {
        &self.settings
    }
}
