//! The cloud accounts of an organisation.
use crate::api::error;
use server::http::Failure;

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod launch_templates;
pub(crate) mod list;
pub(crate) mod status;
pub(crate) mod upload_info;
pub(crate) mod validate_permissions;

use crate::model::cloud::ProviderKind;

/// A provider that has accounts, and so something to launch.
pub(crate) fn provider_named(text: &str) -> Result<ProviderKind, Failure> {
    let kind = text.parse().ok().filter(|kind| *kind != ProviderKind::Noop);
    kind.ok_or_else(|| error::invalid("provider", "it must be aws, azure or gcp"))
}
