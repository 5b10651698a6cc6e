//! The APIs in front of the engine. So far there is one door: operations.
//!
//! A door parses, authorises, submits or reads. It never talks to a driver and never waits on a worker: it
//! watches rows. Who may do what is one table, [`rights::RIGHTS`]; what can go wrong is one list, [`Code`].

mod audit;
mod auth;
mod body;
mod code;
mod errors;
mod frame;
mod guard;
mod hall;
mod health;
mod metrics;
mod openapi;
mod operations;
mod paging;
mod problem;
mod query;
pub mod rights;
mod router;
mod sentence;
pub mod tokens;
pub mod wire;

pub use code::Code;
pub use hall::{DoorSettings, Doors};
pub use metrics::Meter;
pub use openapi::openapi;
pub use router::router;
pub use sentence::describe;
pub use tokens::ensure_admin;
