//! Which requests Image Builder accepts, and what it understands of them.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::catalog;
use crate::aws::Architecture;
use crate::identity_header::{IdentityError, IdentityHeader};

const NAME_CHARS_MAX: usize = 100;
const DESCRIPTION_CHARS_MAX: usize = 250;
const GIB: u64 = 1024 * 1024 * 1024;
const AWS_BYTES_MAX: u64 = 64 * GIB;
const AZURE_BYTES_MAX: u64 = 128 * GIB;

const REQUEST_FIELDS: [&str; 7] = [
    "distribution",
    "bootc",
    "image_name",
    "image_description",
    "client_id",
    "image_requests",
    "customizations",
];
const IMAGE_FIELDS: [&str; 7] =
    ["architecture", "image_type", "upload_request", "size", "snapshot_date", "content_template", "ostree"];

/// Where an image goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UploadTarget {
    Aws {
        accounts: Vec<String>,
    },
    Azure {
        image_name: Option<String>,
        /// The path of the resource group.
        group: String,
        generation: String,
    },
    Gcp,
    /// A place to download it from.
    Store(&'static str),
}

impl UploadTarget {
    pub(super) fn name(&self) -> &'static str {
        match self {
            UploadTarget::Aws { .. } => "aws",
            UploadTarget::Azure { .. } => "azure",
            UploadTarget::Gcp => "gcp",
            UploadTarget::Store(name) => name,
        }
    }
}

/// What is needed of a request to carry it out.
#[derive(Debug, Clone)]
pub(super) struct Admitted {
    pub(super) image_name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) image_type: String,
    pub(super) architecture: Architecture,
    pub(super) target: UploadTarget,
}

/// The shape of a request, before any client asks whether it makes sense.
pub(super) fn shape(request: &Value) -> Result<&Map<String, Value>, IdentityError> {
    let fields = object(request, "the request", &REQUEST_FIELDS)?;
    text(fields, "image_name", NAME_CHARS_MAX)?;
    text(fields, "image_description", DESCRIPTION_CHARS_MAX)?;
    if !matches!(text(fields, "client_id", 10)?, None | Some("api" | "ui" | "mcp")) {
        return Err(wrong("client_id must be api, ui or mcp"));
    }
    if fields.get("customizations").is_some_and(|value| !value.is_object()) {
        return Err(wrong("customizations must be an object"));
    }
    let images = fields.get("image_requests").and_then(Value::as_array);
    let Some([image]) = images.map(Vec::as_slice) else {
        return Err(wrong("image_requests must have exactly one entry"));
    };
    let image = object(image, "an image request", &IMAGE_FIELDS)?;
    for name in ["architecture", "image_type"] {
        if text(image, name, NAME_CHARS_MAX)?.is_none() {
            return Err(wrong(format!("{name} is required")));
        }
    }
    let upload = image.get("upload_request").ok_or_else(|| wrong("upload_request is required"))?;
    let upload = object(upload, "upload_request", &["type", "options"])?;
    if text(upload, "type", NAME_CHARS_MAX)?.is_none() || !upload.get("options").is_some_and(Value::is_object)
    {
        return Err(wrong("upload_request needs a type and options"));
    }
    Ok(fields)
}

/// Whether a request of the right shape can be carried out. `account_of` finds the account behind a source.
pub(super) fn admit(
    fields: &Map<String, Value>,
    who: &IdentityHeader,
    account_of: impl Fn(&str) -> Option<String>,
) -> Result<Admitted, IdentityError> {
    let image = &fields["image_requests"][0];
    let architecture = image["architecture"].as_str().unwrap_or_default();
    system(fields, architecture, who)?;
    if image.get("snapshot_date").is_some() && image.get("content_template").is_some() {
        return Err(wrong("snapshot_date and content_template exclude each other"));
    }
    let image_type = image["image_type"].as_str().unwrap_or_default();
    let upload = &image["upload_request"];
    let expected = catalog::target_of(image_type)
        .ok_or_else(|| wrong(format!("{image_type:?} is not an image type")))?;
    if upload["type"] != expected {
        return Err(wrong(format!("an image of type {image_type} is uploaded to {expected}")));
    }
    let target = target(expected, &upload["options"], account_of)?;
    size(fields, image, &target)?;
    let given = |name| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(Admitted {
        image_name: given("image_name"),
        description: given("image_description"),
        image_type: image_type.to_owned(),
        architecture: architecture.parse().map_err(|why: String| wrong(why))?,
        target,
    })
}

/// The operating system is one of a list, or a container that may be booted.
fn system(
    fields: &Map<String, Value>,
    architecture: &str,
    who: &IdentityHeader,
) -> Result<(), IdentityError> {
    if !catalog::ARCHITECTURES.contains(&architecture) {
        return Err(wrong(format!("{architecture:?} is not an architecture")));
    }
    match (fields.get("distribution"), fields.get("bootc")) {
        (Some(distribution), None) => {
            let name = distribution.as_str().ok_or_else(|| wrong("distribution must be a text"))?;
            catalog::allowed(name, who)
        }
        (None, Some(bootc)) => {
            let reference = bootc["reference"].as_str().unwrap_or_default();
            if !reference.starts_with(catalog::BOOTC_PREFIX) {
                return Err(wrong("the bootc reference is not on the list of those that are allowed"));
            }
            Ok(())
        }
        _ => Err(wrong("exactly one of distribution and bootc is required")),
    }
}

fn target(
    name: &'static str,
    options: &Value,
    account_of: impl Fn(&str) -> Option<String>,
) -> Result<UploadTarget, IdentityError> {
    match name {
        "aws" => aws(options, account_of),
        "azure" => azure(options),
        "gcp" => {
            let kinds = ["user:", "serviceAccount:", "group:", "domain:"];
            let is_shared = |one: &&str| kinds.iter().any(|kind| one.starts_with(kind));
            let accounts = texts(options, "share_with_accounts")?;
            if let Some(bad) = accounts.iter().find(|one| !is_shared(one)) {
                return Err(wrong(format!("{bad:?} is no account that an image in GCP can be shared with")));
            }
            Ok(UploadTarget::Gcp)
        }
        other => Ok(UploadTarget::Store(other)),
    }
}

fn aws(options: &Value, account_of: impl Fn(&str) -> Option<String>) -> Result<UploadTarget, IdentityError> {
    let is_account = |one: &str| one.len() == 12 && one.bytes().all(|byte| byte.is_ascii_digit());
    let mut accounts = Vec::new();
    for account in texts(options, "share_with_accounts")? {
        if !is_account(account) {
            return Err(wrong(format!("{account:?} is not an account; accounts have 12 digits")));
        }
        accounts.push(account.to_owned());
    }
    for source in texts(options, "share_with_sources")? {
        let account = account_of(source)
            .ok_or_else(|| wrong(format!("the source {source:?} does not lead to an account in AWS")))?;
        accounts.push(account);
    }
    if accounts.is_empty() {
        return Err(wrong("an image in AWS needs an account or a source to share it with"));
    }
    Ok(UploadTarget::Aws { accounts })
}

fn azure(options: &Value) -> Result<UploadTarget, IdentityError> {
    for name in ["tenant_id", "subscription_id"] {
        if options[name].as_str().is_none_or(|id| Uuid::parse_str(id).is_err()) {
            return Err(wrong(format!("an image in Azure needs a {name} that is a UUID")));
        }
    }
    if options["resource_group"].as_str().is_none_or(str::is_empty) {
        return Err(wrong("an image in Azure needs a resource_group"));
    }
    if options.get("hyper_v_generation").is_some_and(|value| value != "V1" && value != "V2") {
        return Err(wrong("hyper_v_generation must be V1 or V2"));
    }
    let text = |name: &str| options[name].as_str().unwrap_or_default();
    Ok(UploadTarget::Azure {
        image_name: options["image_name"].as_str().map(str::to_owned),
        group: format!(
            "/subscriptions/{}/resourceGroups/{}",
            text("subscription_id"),
            text("resource_group")
        ),
        generation: options["hyper_v_generation"].as_str().unwrap_or("V1").to_owned(),
    })
}

fn size(fields: &Map<String, Value>, image: &Value, target: &UploadTarget) -> Result<(), IdentityError> {
    let bytes = |value: &Value, name: &str| match value {
        Value::Null => Ok(0),
        value => value.as_u64().ok_or_else(|| wrong(format!("{name} must be a number of bytes"))),
    };
    let mut mounted = 0_u64;
    let filesystems = fields.get("customizations").and_then(|all| all["filesystem"].as_array());
    for one in filesystems.into_iter().flatten() {
        mounted = mounted.saturating_add(bytes(&one["min_size"], "min_size")?);
    }
    let total = bytes(&image["size"], "size")?.max(mounted);
    let most = match target {
        UploadTarget::Aws { .. } => AWS_BYTES_MAX,
        UploadTarget::Azure { .. } => AZURE_BYTES_MAX,
        _ => return Ok(()),
    };
    if total > most {
        return Err(wrong(format!("an image for {} has at most {most} bytes", target.name())));
    }
    Ok(())
}

fn object<'a>(value: &'a Value, what: &str, known: &[&str]) -> Result<&'a Map<String, Value>, IdentityError> {
    let fields = value.as_object().ok_or_else(|| wrong(format!("{what} must be an object")))?;
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(wrong(format!("{what} has no field {unknown:?}"))),
        None => Ok(fields),
    }
}

fn text<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    chars_max: usize,
) -> Result<Option<&'a str>, IdentityError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= chars_max => Ok(Some(text)),
        Some(_) => Err(wrong(format!("{name} must be a text of at most {chars_max} characters"))),
    }
}

fn texts<'a>(options: &'a Value, name: &str) -> Result<Vec<&'a str>, IdentityError> {
    let list = match &options[name] {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err(wrong(format!("{name} must be a list"))),
    };
    let all: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    all.ok_or_else(|| wrong(format!("{name} must be a list of texts")))
}

fn wrong(detail: impl Into<String>) -> IdentityError {
    IdentityError::bad_request(detail)
}
