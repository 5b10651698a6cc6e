//! The hosted services as their callers see them: Image Builder, Sources and RBAC, over HTTP, with a real client.

mod admission;
mod builds;
mod caller;
mod controls;
mod notices;
mod rbac;
mod sources;
