//! The steps of a launch, one file each, and what they share.

mod build_image;
mod caller;
mod check_account;
mod check_permissions;
mod fetch_addresses;
mod launch_instances;
mod order;
mod portrayed;
mod quoted;
mod reach;
mod register_in_inventory;
mod report;
mod submit_build;
mod surplus;
mod test_step;
mod upload_public_key;
mod validate;
mod wait_for_parameters;

pub(super) use self::build_image::BuildImage;
pub(super) use self::check_account::CheckAccount;
pub(super) use self::check_permissions::CheckPermissions;
pub(super) use self::fetch_addresses::FetchAddresses;
pub(super) use self::launch_instances::LaunchInstances;
pub(super) use self::portrayed::Portrayed;
pub(super) use self::reach::Reach;
pub(super) use self::register_in_inventory::RegisterInInventory;
pub(super) use self::submit_build::SubmitBuild;
pub(super) use self::test_step::TestStep;
pub(super) use self::upload_public_key::UploadPublicKey;
pub(super) use self::validate::Validate;
pub(super) use self::wait_for_parameters::WaitForParameters;
