//! Our side of every outside system: one folder per system, a trait in our words, and the wire code behind
//! it.
//!
//! Every driver can make a thing with a token, find it by the token, and take it back by the token. That is
//! what lets a step adopt its work after a crash, and an undo find it.

mod answer;
pub mod aws;
pub mod cloud;
pub mod director;
mod error;
pub mod external_step;
mod graphql;
pub mod greeter;
pub mod identity;
pub mod image_builder;
pub mod kafka;
pub mod kubernetes;
pub mod opennebula;
pub mod provisioner;
pub mod rbac;
pub mod sources;
mod trust;
pub mod webhook;

pub use error::DriverError;
pub use trust::{http_client, trust};
