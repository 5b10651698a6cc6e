//! Amazon Web Services.

use engine::secret::{ExposeSecret, SecretString};

use super::{
    AccountField, AccountWay, BOTH, BuildSpec, FieldSpec, FormSpec, GIB, Invalid, KeySpec, LegacyStep,
    NameSpec, ParameterSpec, ProviderSpec, Rule, SourceSpec, TAG, UploadOptions, UploadValue, whole,
};
use crate::{Access, EXTERNAL_ID_PREFIX, external_id};

const EXTERNAL_ID_CHARS: std::ops::RangeInclusive<usize> = 2..=1224;
const ARN_CHARS_MAX: usize = 2048;

pub(super) const SPEC: ProviderSpec = ProviderSpec {
    name: "aws",
    title: "AWS",
    number: 2,
    home: "us-east-1",
    is_regional: true,
    region_of_image: false,
    split_zone: whole,
    instance_types: Some(include_str!("aws.txt")),
    ssh_user: Some("ec2-user"),
    keys: KeySpec {
        accepts: |kind| matches!(kind, "ssh-rsa" | "ssh-ed25519"),
        instead: "ssh-rsa or ssh-ed25519",
        are_uploaded: true,
    },
    build: BuildSpec {
        image_types: &["aws", "ami"],
        bytes_max: Some(64 * GIB),
        shared_account: Some(Rule { fits: is_account, message: "must be account ids of 12 digits" }),
        architectures: BOTH,
        upload_options: &[],
        upload: |target| {
            let account = UploadValue::List(vec![target.account_id.clone()]);
            UploadOptions::from([("share_with_accounts", account)])
        },
        shares_with_us: false,
        image_id: |option| option("ami"),
    },
    names: NameSpec {
        image_id: Rule {
            fits: |id| begins(id, "ami-"),
            message: "must be an id such as ami-0123456789abcdef0, or that of a build",
        },
        instance: TAG,
        launch_template: Some(Rule {
            fits: |id| begins(id, "lt-"),
            message: "must be an id that begins with lt-",
        }),
    },
    source: Some(SourceSpec {
        type_name: "amazon",
        type_id: "1",
        authentication: "provisioning-arn",
        account: "the ARN of a role",
        sandbox_account: "arn:aws:iam::123456789012:role/provision-engine",
        by_role: true,
        check,
    }),
    form: FORM,
    parameters: &[
        ParameterSpec {
            name: "subnet",
            label: "Subnet",
            hint: "Such as subnet-0123456789abcdef0. Without one, the account's own.",
            rule: Rule {
                fits: |id| begins(id, "subnet-"),
                message: "must be an id that begins with subnet-",
            },
            values_max: None,
        },
        ParameterSpec {
            name: "security_groups",
            label: "Security groups",
            hint: "Ids, separated by spaces.",
            rule: Rule { fits: |id| begins(id, "sg-"), message: "must be an id that begins with sg-" },
            // What one network interface takes.
            values_max: Some(5),
        },
    ],
    parts: &[],
    has_insights_script: true,
    legacy_steps: &[LegacyStep::PublicKey, LegacyStep::Launch, LegacyStep::Addresses],
};

const FORM: FormSpec = FormSpec {
    region: FieldSpec {
        label: "Region",
        hint: "Images are built in us-east-1, and can be launched where they are.",
    },
    image_id: FieldSpec {
        label: "Id of the image",
        hint: "Such as ami-0123456789abcdef0, in the region that you choose next.",
    },
    instance_name: FieldSpec { label: "Name of the instances", hint: "As AWS shows them. It may be empty." },
    instance_type: FieldSpec { label: "Instance type", hint: "" },
    account: &[
        AccountWay {
            title: "An IAM role",
            fields: &[
                AccountField {
                    name: "arn",
                    label: "ARN of the role",
                    hint: "Such as arn:aws:iam::123456789012:role/launcher.",
                    is_secret: false,
                },
                AccountField {
                    name: "external_id",
                    label: "External id",
                    hint: "The external id in the trust policy of the role. Without one: provision-engine and the \
                           name of the organisation.",
                    is_secret: false,
                },
            ],
        },
        AccountWay {
            title: "Or an access key",
            fields: &[
                AccountField { name: "access_key_id", label: "Access key id", hint: "", is_secret: false },
                AccountField {
                    name: "secret_access_key",
                    label: "Secret access key",
                    hint: "",
                    is_secret: true,
                },
            ],
        },
    ],
    families: &["t3.", "t4g.", "m7i.", "m7g.", "c7i.", "r7i."],
    first_types: &["t3.small", "t4g.small"],
};

fn begins(id: &str, with: &str) -> bool {
    let rest = id.strip_prefix(with).unwrap_or_default();
    (1..=40).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn check(org: &str, access: &Access) -> Vec<Invalid> {
    match access {
        Access::Role { arn, external_id } => {
            let external_id = external_id.as_ref();
            role(arn).into_iter().chain(external_id.and_then(|id| external(org, id))).collect()
        }
        Access::Keys { id, secret } => keys(id, secret.expose_secret()),
        Access::Name(_) => vec![
            Invalid::new("access", "must be a role, or keys").hint("give arn, or access_key_id and secret"),
        ],
    }
}

/// `arn:<partition>:iam::<12 digits>:role/<path and name>`.
fn role(arn: &str) -> Option<Invalid> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+=,.@-/".contains(&b))
    };
    let fits = matches!(
        parts.as_slice(),
        ["arn", "aws" | "aws-cn" | "aws-us-gov", "iam", "", account, role]
            if is_account(account) && role.strip_prefix("role/").is_some_and(is_name)
    );
    (!fits || arn.len() > ARN_CHARS_MAX).then(|| {
        Invalid::new("arn", "must be the ARN of a role")
            .hint("such as arn:aws:iam::123456789012:role/launcher")
    })
}

fn external(org: &str, id: &SecretString) -> Option<Invalid> {
    if external_id(org, Some(id)).is_err() {
        let rule = format!("must not begin with {EXTERNAL_ID_PREFIX}, which the engine adds by itself");
        return Some(
            Invalid::new("external_id", rule).hint("leave it out, and it is that of the organisation"),
        );
    }
    let id = id.expose_secret();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_+=,.@:/-".contains(&b);
    let fits = EXTERNAL_ID_CHARS.contains(&id.len()) && id.bytes().all(is_plain);
    (!fits).then(|| Invalid::new("external_id", "must have 2 to 1224 letters, digits and _ + = , . @ : / -"))
}

fn keys(id: &str, secret: &str) -> Vec<Invalid> {
    let mut found = Vec::new();
    if !(16..=128).contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_alphanumeric()) {
        found.push(Invalid::new("access_key_id", "must have 16 to 128 letters and digits"));
    }
    if !(16..=256).contains(&secret.len()) || !secret.bytes().all(|b| b.is_ascii_graphic()) {
        found.push(Invalid::new("secret_access_key", "must have 16 to 256 visible characters"));
    }
    found
}
