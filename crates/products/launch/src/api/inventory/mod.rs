//! What launches have made: the list of all instances, and each of them by its id in the cloud.

pub(crate) mod get;
pub mod list;
pub(crate) mod terminate;
pub mod wire;
