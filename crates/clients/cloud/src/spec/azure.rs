//! Microsoft Azure.

use super::{
    BuildSpec, GIB, KeySpec, LegacyStep, NameSpec, PREFIX_CHARS_MAX, ProviderSpec, Rule, SourceSpec, X86_64,
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
        architectures: X86_64,
        upload_options: &["tenant_id", "subscription_id", "resource_group"],
        image_id: |option| {
            let (subscription, group) = (option("subscription_id")?, option("resource_group")?);
            let image = option("image_name")?;
            Some(format!(
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/images/{image}"
            ))
        },
    },
    names: NameSpec {
        image_id: Rule {
            fits: |id| is_arm_id(id, "/images/"),
            message: "must be /subscriptions/…/images/NAME, or the id of a build",
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
        subnet: Some(Rule {
            fits: |id| is_arm_id(id, "/subnets/"),
            message: "must be /subscriptions/…/subnets/NAME",
        }),
        security_group: Some(Rule {
            fits: |id| is_arm_id(id, "/networkSecurityGroups/"),
            message: "must be /subscriptions/…/networkSecurityGroups/NAME",
        }),
        security_groups_max: 1,
        resource_group: Some(Rule {
            fits: |name| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.()".contains(c);
                (1..=90).contains(&name.len()) && name.chars().all(is_plain) && !name.ends_with('.')
            },
            message: "must be 1 to 90 letters, digits and - _ . ( ), without a dot at the end",
        }),
    },
    source: Some(SourceSpec {
        type_name: "azure",
        type_id: "2",
        authentication: "provisioning_lighthouse_subscription_id",
        account: "the id of a subscription",
        sandbox_account: "4b9d213f-712f-4d17-a483-8a10bbe9df3a",
        by_role: false,
        check: |_, access| named(access, "must be the id of a subscription"),
    }),
    parts: &PartKind::ALL,
    proves_permissions: false,
    has_insights_script: false,
    legacy_steps: &[LegacyStep::ResourceGroup, LegacyStep::Launch],
};

/// Its parts are compared without their case.
fn is_arm_id(text: &str, kind: &str) -> bool {
    let folded = text.to_ascii_lowercase();
    let starts = folded.starts_with("/subscriptions/");
    starts && is_address(text) && folded.contains(&kind.to_ascii_lowercase())
}
