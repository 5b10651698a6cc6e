//! Runtimes: clusters that a platform asks for through the Open Service Broker API, made by the Runtime Provisioner.

pub mod api;
pub mod clients;
pub mod model;
pub mod workflows;

pub use clients::Clients;
