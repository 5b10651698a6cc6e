//! The steps of a launch, one file each, and what they share.

pub(crate) mod build_image;
mod caller;
pub(crate) mod check_account;
pub(crate) mod check_permissions;
pub(crate) mod fetch_addresses;
pub(crate) mod launch_instances;
mod order;
mod portrayed;
mod quoted;
mod reach;
pub(crate) mod register_in_inventory;
mod report;
pub(crate) mod submit_build;
mod surplus;
pub(crate) mod test_step;
pub(crate) mod upload_public_key;
pub(crate) mod validate;
pub(crate) mod wait_for_parameters;

pub(crate) use self::portrayed::Portrayed;
pub(crate) use self::reach::Reach;
