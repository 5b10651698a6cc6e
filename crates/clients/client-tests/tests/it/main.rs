//! The clients of external systems, each against the sandbox and against servers that misbehave.
//!
//! One program for all of them, because linking one for each costs more than compiling the tests. Kafka has its own,
//! which runs all checks at once against one cluster.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod aws;
mod azure;
mod cloud;
mod declared_step;
mod director;
mod external_step;
mod google;
mod greeter;
mod identity;
mod image_builder;
mod infrastructure_manager;
mod kubernetes;
mod log;
mod moto;
mod opennebula;
mod provisioner;
mod rbac;
mod sources;
mod tap;
mod vector;
mod webhook;
