//! The external systems of a runtime as their callers see them: over HTTP, with a real client.

mod caller;
mod cluster;
mod director;
mod entra;
mod google_key;
mod identity;
mod identity_provider;
mod provisioner;
mod provisioner_failures;
