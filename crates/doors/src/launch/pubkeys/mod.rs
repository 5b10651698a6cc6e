//! The public keys of an organisation, which let people into machines.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
