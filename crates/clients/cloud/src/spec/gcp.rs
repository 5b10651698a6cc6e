//! Google Cloud.

use super::{
    AccountField, AccountWay, BuildSpec, FieldSpec, FormSpec, KeySpec, LegacyStep, NameSpec,
    PREFIX_CHARS_MAX, ParameterSpec, ProviderSpec, Rule, SourceSpec, UploadOptions, UploadValue, X86_64,
    is_address, is_id, named,
};
use crate::PartKind;

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "gcp",
    title: "Google Cloud",
    number: 4,
    home: "us-central1-a",
    is_regional: false,
    region_of_image: false,
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
        shared_account: Some(Rule {
            fits: is_member,
            message: "must be members such as serviceAccount:NAME, user:NAME, group:NAME or domain:NAME",
        }),
        architectures: X86_64,
        upload_options: &[],
        upload: |target| {
            let principal = target.principal.iter().map(|email| format!("serviceAccount:{email}"));
            UploadOptions::from([("share_with_accounts", UploadValue::List(principal.collect()))])
        },
        shares_with_us: true,
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
    form: FORM,
    parameters: &[ParameterSpec {
        name: "subnet",
        label: "Subnetwork",
        hint: "Such as projects/PROJECT/regions/REGION/subnetworks/NAME. Without one, the network default.",
        rule: Rule {
            fits: |text| is_id(text) || (is_address(text) && text.contains("/subnetworks/")),
            message: "must be a name, or projects/PROJECT/regions/REGION/subnetworks/NAME",
        },
        values_max: None,
    }],
    parts: &[PartKind::Disk],
    has_insights_script: false,
    legacy_steps: &[LegacyStep::Launch, LegacyStep::Addresses],
};

const FORM: FormSpec = FormSpec {
    region: FieldSpec { label: "Zone", hint: "Such as us-central1-a. Images start in every zone." },
    image_id: FieldSpec {
        label: "Address of the image",
        hint: "Such as projects/PROJECT/global/images/NAME.",
    },
    instance_name: FieldSpec {
        label: "Name of the instances",
        hint: "What their names begin with: lower-case letters, digits and hyphens. It may be empty.",
    },
    instance_type: FieldSpec { label: "Machine type", hint: "" },
    account: &[AccountWay {
        title: "A project that lets this service in",
        fields: &[AccountField {
            name: "project_id",
            label: "Project id",
            hint: "The project must have the label provision-engine-org with the name of your organisation.",
            is_secret: false,
        }],
    }],
    families: &["e2-", "n2-", "n1-", "c2-"],
    first_types: &["e2-medium"],
};

/// Whom an image of Google can be shared with.
fn is_member(text: &str) -> bool {
    let kinds = ["serviceAccount:", "user:", "group:", "domain:"];
    let name = kinds.iter().find_map(|kind| text.strip_prefix(kind));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
}
