//! The commands of runtimes.

pub(crate) mod catalog;
pub(crate) mod instances;
pub(crate) mod upgrades;
