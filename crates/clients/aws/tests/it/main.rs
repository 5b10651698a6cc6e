//! AWS, as its answers look and as its failures look.
#![expect(clippy::unwrap_used, reason = "a test may fail wherever it stands")]

mod far;
mod instances;
mod keys;
mod limits;
mod lists;
mod order;
mod sandbox;
mod secrecy;
mod sessions;
