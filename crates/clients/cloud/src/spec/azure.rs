//! Microsoft Azure.

use super::{
    AccountField, AccountWay, BuildSpec, FieldSpec, FormSpec, GIB, KeySpec, LegacyStep, NameSpec,
    PREFIX_CHARS_MAX, ParameterSpec, ProviderSpec, Rule, SourceSpec, UploadOptions, UploadValue, X86_64,
    is_address, named,
};
use crate::PartKind;

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "azure",
    title: "Azure",
    number: 3,
    home: "eastus",
    is_regional: false,
    region_of_image: true,
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
        upload: |target| {
            let group = target.resource_groups.first().cloned();
            let texts = [
                ("tenant_id", target.tenant_id.clone()),
                ("subscription_id", Some(target.account_id.clone())),
                ("resource_group", group),
            ];
            let given = texts.into_iter().filter_map(|(name, text)| Some((name, UploadValue::Text(text?))));
            given.collect::<UploadOptions>()
        },
        shares_with_us: false,
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
    form: FORM,
    parameters: PARAMETERS,
    parts: &PartKind::ALL,
    has_insights_script: false,
    legacy_steps: &[LegacyStep::ResourceGroup, LegacyStep::Launch],
};

const FORM: FormSpec = FormSpec {
    region: FieldSpec {
        label: "Location",
        hint: "An image starts in its own location, which is that of its resource group. Leave it empty to launch there.",
    },
    image_id: FieldSpec {
        label: "Id of the managed image",
        hint: "Such as /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/images/NAME.",
    },
    instance_name: FieldSpec {
        label: "Name of the virtual machines",
        hint: "What their names begin with: letters, digits and hyphens. It may be empty.",
    },
    instance_type: FieldSpec { label: "Size", hint: "" },
    account: &[AccountWay {
        title: "A subscription that is delegated to this service",
        fields: &[AccountField {
            name: "subscription_id",
            label: "Subscription id",
            hint: "Such as 4b9d213f-712f-4d17-a483-8a10bbe9df3a. Its delegation must name your organisation.",
            is_secret: false,
        }],
    }],
    families: &["Standard_B", "Standard_D", "Standard_F", "Standard_E"],
    first_types: &["Standard_B2s"],
};

const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "resource_group",
        label: "Resource group",
        hint: "Where everything is made. Without one, the launch makes a group of its own.",
        rule: Rule {
            fits: |name| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.()".contains(c);
                (1..=90).contains(&name.len()) && name.chars().all(is_plain) && !name.ends_with('.')
            },
            message: "must be 1 to 90 letters, digits and - _ . ( ), without a dot at the end",
        },
        values_max: None,
    },
    ParameterSpec {
        name: "subnet",
        label: "Subnet",
        hint: "Such as /subscriptions/…/virtualNetworks/…/subnets/NAME. Without one, a network is made for the launch.",
        rule: Rule {
            fits: |id| is_arm_id(id, "/subnets/"),
            message: "must be /subscriptions/…/subnets/NAME",
        },
        values_max: None,
    },
    ParameterSpec {
        name: "security_groups",
        label: "Network security group",
        hint: "Such as /subscriptions/…/networkSecurityGroups/NAME. Without one, a group that opens port 22 is made.",
        rule: Rule {
            fits: |id| is_arm_id(id, "/networkSecurityGroups/"),
            message: "must be /subscriptions/…/networkSecurityGroups/NAME",
        },
        values_max: Some(1),
    },
];

/// Its parts are compared without their case.
fn is_arm_id(text: &str, kind: &str) -> bool {
    let folded = text.to_ascii_lowercase();
    let starts = folded.starts_with("/subscriptions/");
    starts && is_address(text) && folded.contains(&kind.to_ascii_lowercase())
}
