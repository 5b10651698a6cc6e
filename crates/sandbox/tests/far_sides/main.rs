//! The far sides of a runtime as their callers see them: over HTTP, with a real client.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod caller;
mod cluster;
mod director;
mod identity;
mod identity_provider;
mod provisioner;
mod provisioner_trouble;
