//! Accounts in clouds that an organisation lets us use.
use crate::http::Failure;
use crate::launch::error;

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod launch_templates;
pub(super) mod list;
pub(super) mod status;
pub(super) mod upload_info;
pub(super) mod validate_permissions;

use workflows::launch::cloud::ProviderKind;

/// A provider that has accounts, and so something to launch.
pub(super) fn provider_named(text: &str) -> Result<ProviderKind, Failure> {
    let kind = text.parse().ok().filter(|kind| *kind != ProviderKind::Noop);
    kind.ok_or_else(|| error::invalid("provider", "it must be aws, azure or gcp"))
}
