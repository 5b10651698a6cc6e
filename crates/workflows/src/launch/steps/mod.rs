//! The steps of a launch, one file each, and what they share.

pub(super) mod build_image;
mod caller;
pub(super) mod check_account;
pub(super) mod check_permissions;
pub(super) mod fetch_addresses;
pub(super) mod launch_instances;
mod order;
mod portrayed;
mod quoted;
mod reach;
pub(super) mod register_in_inventory;
mod report;
pub(super) mod submit_build;
mod surplus;
pub(super) mod test_step;
pub(super) mod upload_public_key;
pub(super) mod validate;
pub(super) mod wait_for_parameters;

pub(super) use self::portrayed::Portrayed;
pub(super) use self::reach::Reach;
