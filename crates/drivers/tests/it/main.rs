//! The drivers that launches need, against far sides that answer what a test wants them to.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod aws;
mod identity;
mod image_builder;
mod rbac;
mod sources;
