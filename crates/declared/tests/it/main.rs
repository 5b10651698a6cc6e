//! Declared workflows on a memory store, with a service in this process that keeps a ledger of its effects.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod addresses;
mod answers;
mod crashes;
mod declaration;
mod files;
mod saves;
mod service;
mod versions;
