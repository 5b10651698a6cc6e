//! The commands of launches.

pub(super) mod images;
pub(super) mod instance_types;
pub(super) mod inventory;
pub(super) mod launch;
pub(super) mod launches;
pub(super) mod pubkeys;
pub(super) mod sources;
