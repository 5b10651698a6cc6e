//! The commands of runtimes.

pub(super) mod catalog;
pub(super) mod instances;
