//! The inventory: all launched instances, and each by its id in the cloud.

pub(crate) mod get;
pub mod list;
pub(crate) mod terminate;
pub mod wire;
