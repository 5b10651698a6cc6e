//! The APIs in front of the engine: operations, runtimes, the service broker, serverless runtimes, and launches.
//!
//! A door parses, authorises, submits or reads. It never talks to a driver and never waits on a worker: it
//! watches rows. Who may do what is one table, [`rights::RIGHTS`]; what can go wrong is one list, [`Code`].
//!
//! One door is different: `OpenNebula` keeps the serverless runtimes and their users, so [`serverless`] reads
//! there, through the workflows.

mod audit;
mod auth;
mod error;
mod errors;
mod frame;
mod guard;
mod hall;
mod health;
mod http;
mod inside;
pub mod launch;
mod metrics;
mod oidc;
mod openapi;
mod operations;
pub mod osb;
mod paging;
pub mod people;
mod principal;
mod query;
pub mod rights;
mod router;
mod runtimes;
pub mod sandbox_access;
mod sentence;
pub mod serverless;
pub mod tokens;
mod upkeep;
pub mod wire;

pub use api::Code;
pub use auth::{Bearers, Denied};
pub use hall::{DoorSettings, Doors};
pub use http::{SlowBody, body_within, is_slow_body};
pub use inside::{Inside, Watch};
pub use metrics::Meter;
pub use oidc::{Begun, CodeFlow, CodeFlowSettings, FlowError, Oidc, OidcSettings};
pub use openapi::openapi;
pub use people::{SignInError, SignInLimits, ensure_first_user};
pub use principal::{Principal, Subject};
pub use router::{open, router};
pub use runtimes::sweep::{Failures, Swept, keep_sweeping, sweep};
pub use sentence::describe;
pub use tokens::ensure_admin;
pub use upkeep::{KeyKeeper, System, Upkeep};
