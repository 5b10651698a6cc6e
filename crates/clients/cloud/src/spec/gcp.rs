//! Google Cloud.

use super::{
    BuildSpec, KeySpec, LegacyStep, NameSpec, PREFIX_CHARS_MAX, ProviderSpec, Rule, SourceSpec, X86_64,
    is_address, is_id, named,
};
use crate::PartKind;

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "gcp",
    title: "GCP",
    number: 4,
    home: "us-central1-a",
    is_regional: false,
    // Names of regions end in a number, those of zones in a letter.
    split_zone: |text| match text.rsplit_once('-') {
        Some((region, zone)) if zone.len() == 1 && zone.as_bytes()[0].is_ascii_lowercase() => {
            (region, Some(text))
        }
        _ => (text, None),
    },
    instance_types: Some(include_str!("gcp.txt")),
    ssh_user: Some("gcp-user"),
    keys: KeySpec {
        accepts: |kind| kind != "ssh-dss",
        instead: "ssh-ed25519 or ssh-rsa",
        are_uploaded: false,
    },
    build: BuildSpec {
        image_types: &["gcp"],
        bytes_max: None,
        shared_account: None,
        architectures: X86_64,
        upload_options: &[],
        image_id: |option| {
            let (project, image) = (option("project_id")?, option("image_name")?);
            Some(format!("projects/{project}/global/images/{image}"))
        },
    },
    names: NameSpec {
        image_id: Rule {
            fits: |id| is_address(id) && id.contains('/'),
            message: "must be the address of an image, or the id of a build",
        },
        instance: Rule {
            fits: |text| {
                let is_low = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                text.len() <= PREFIX_CHARS_MAX
                    && text.starts_with(|first: char| first.is_ascii_lowercase())
                    && text.chars().all(is_low)
                    && !text.ends_with('-')
            },
            message: "must be 1 to 50 lower-case letters, digits and hyphens, a letter first",
        },
        launch_template: Some(Rule { fits: is_id, message: "is not the id of a launch template" }),
        subnet: Some(Rule {
            fits: |text| is_id(text) || (is_address(text) && text.contains("/subnetworks/")),
            message: "must be a name, or projects/PROJECT/regions/REGION/subnetworks/NAME",
        }),
        security_group: None,
        security_groups_max: 0,
        resource_group: None,
    },
    source: Some(SourceSpec {
        type_name: "google",
        type_id: "3",
        authentication: "provisioning_project_id",
        account: "the id of a project",
        sandbox_account: "sandbox-project-7",
        by_role: false,
        check: |_, access| named(access, "must be the id of a project"),
    }),
    parts: &[PartKind::Disk],
    proves_permissions: false,
    has_insights_script: false,
    legacy_steps: &[LegacyStep::Launch, LegacyStep::Addresses],
};
