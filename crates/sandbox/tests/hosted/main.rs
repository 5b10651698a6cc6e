//! The hosted services as their callers see them: Image Builder, Sources and RBAC, over HTTP, with a real client.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod admission;
mod builds;
mod caller;
mod knobs;
mod notices;
mod rbac;
mod sources;
