//! Microsoft Azure.

use super::{
    BuildSpec, GIB, KeySpec, LegacyStep, NameSpec, PREFIX_CHARS_MAX, ProviderSpec, Rule, SourceSpec,
    is_address, named,
};
use crate::PartKind;

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "azure",
    title: "Azure",
    number: 3,
    home: "eastus",
    is_regional: false,
    split_zone: |text| text.split_once('_').map_or((text, None), |(region, zone)| (region, Some(zone))),
    instance_types: Some(include_str!("azure.txt")),
    ssh_user: Some("azureuser"),
    keys: KeySpec {
        accepts: |kind| matches!(kind, "ssh-rsa" | "ssh-ed25519"),
        instead: "ssh-rsa or ssh-ed25519",
        are_uploaded: false,
    },
    build: BuildSpec {
        image_types: &["azure", "vhd"],
        bytes_max: Some(128 * GIB),
        shared_account: None,
        upload_options: |has_source| {
            if has_source { &["resource_group"] } else { &["resource_group", "tenant_id", "subscription_id"] }
        },
        image_id: |option| option("image_name"),
    },
    names: NameSpec {
        image_id: Rule {
            fits: |id| {
                is_address(id) && (id.starts_with("composer-api") || id.starts_with("/subscriptions/"))
            },
            message: "must be composer-api-…, /subscriptions/…, or the id of a build",
        },
        instance: Rule {
            fits: |text| {
                text.len() <= PREFIX_CHARS_MAX
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                    && !text.starts_with('-')
            },
            message: "must be 1 to 50 letters, digits and hyphens",
        },
        launch_template: None,
        subnet: None,
        security_group: None,
    },
    source: Some(SourceSpec {
        type_name: "azure",
        type_id: "2",
        authentication: "provisioning_lighthouse_subscription_id",
        account: "the id of a subscription",
        by_role: false,
        check: |_, access| named(access, "must be the id of a subscription"),
    }),
    parts: &PartKind::ALL,
    proves_permissions: false,
    has_insights_script: false,
    legacy_steps: &[LegacyStep::ResourceGroup, LegacyStep::Launch],
};
