//! The commands of launches.

pub(crate) mod images;
pub(crate) mod instance_types;
pub(crate) mod inventory;
pub(crate) mod launch;
pub(crate) mod launches;
pub(crate) mod public_keys;
pub(crate) mod sources;
