//! What launches have made: the list of all machines, and each of them by its id in the cloud.

pub(super) mod get;
pub mod list;
pub(super) mod terminate;
pub mod wire;
