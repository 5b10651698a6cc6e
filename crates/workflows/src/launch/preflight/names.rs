//! How names and ids are written in each cloud.

use drivers::cloud::ProviderKind;

use crate::launch::params::PlainParameters;
use crate::launch::rejection::Flaw;

/// A tag in AWS may be longer; a name that people read is not.
const NAME_CHARS_MAX: usize = 128;
/// A number is put behind it.
const PREFIX_CHARS_MAX: usize = 50;
const ID_CHARS_MAX: usize = 128;
/// Longer than any address of an image.
const IMAGE_CHARS_MAX: usize = 512;
/// What AWS allows for one network interface.
const SECURITY_GROUPS_MAX: usize = 5;

/// Whether every text has the form that the cloud knows.
pub(super) fn check(provider: ProviderKind, parameters: &PlainParameters) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    if !is_id(&parameters.source_id) {
        flaws.push(Flaw::new("source_id", "is missing or not an id").hint("choose one of your sources"));
    }
    if !is_id(&parameters.region) {
        flaws.push(Flaw::new("region", "is not the name of a region"));
    }
    if parameters.instance_type.as_deref().is_some_and(|name| !is_id(name)) {
        flaws.push(Flaw::new("instance_type", "is not the name of an instance type"));
    }
    flaws.extend(parameters.name.as_deref().and_then(|text| name(provider, text)));
    flaws.extend(parameters.launch_template_id.as_deref().and_then(|text| template(provider, text)));
    flaws.extend(parameters.subnet.as_deref().and_then(|text| marked(provider, "subnet", text, "subnet-")));
    if parameters.security_groups.len() > SECURITY_GROUPS_MAX {
        let message = format!("must be at most {SECURITY_GROUPS_MAX}");
        flaws.push(Flaw::new("security_groups", message).hint("put the rules into fewer groups"));
    }
    let mut groups = parameters.security_groups.iter();
    flaws.extend(groups.find_map(|text| marked(provider, "security_groups", text, "sg-")));
    flaws
}

/// An image of the cloud itself.
pub(super) fn image(provider: ProviderKind, id: &str) -> Option<Flaw> {
    let is_short = (1..=IMAGE_CHARS_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    let (fits, form) = match provider {
        ProviderKind::Aws => {
            (is_marked(id, "ami-"), "an id such as ami-0123456789abcdef0, or that of a build")
        }
        ProviderKind::Azure => (
            is_short && (id.starts_with("composer-api") || id.starts_with("/subscriptions/")),
            "composer-api-…, /subscriptions/…, or the id of a build",
        ),
        ProviderKind::Gcp => (is_short && id.contains('/'), "the address of an image, or the id of a build"),
        ProviderKind::Noop => (false, "left out: the provider noop starts no image"),
    };
    (!fits).then(|| Flaw::new("image_id", format!("must be {form}")))
}

fn name(provider: ProviderKind, text: &str) -> Option<Flaw> {
    let starts_low = text.starts_with(|first: char| first.is_ascii_lowercase());
    let is_low = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let (fits, rule) = match provider {
        ProviderKind::Gcp => (
            text.len() <= PREFIX_CHARS_MAX && starts_low && text.chars().all(is_low) && !text.ends_with('-'),
            format!("1 to {PREFIX_CHARS_MAX} lower-case letters, digits and hyphens, a letter first"),
        ),
        ProviderKind::Azure => (
            text.len() <= PREFIX_CHARS_MAX
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                && !text.starts_with('-'),
            format!("1 to {PREFIX_CHARS_MAX} letters, digits and hyphens"),
        ),
        ProviderKind::Aws | ProviderKind::Noop => (
            text.chars().count() <= NAME_CHARS_MAX
                && text.chars().all(|c| c.is_alphanumeric() || " +-=._:/@".contains(c)),
            format!("1 to {NAME_CHARS_MAX} letters, digits, spaces and + - = . _ : / @"),
        ),
    };
    (!fits).then(|| Flaw::new("name", format!("must be {rule}")))
}

fn template(provider: ProviderKind, text: &str) -> Option<Flaw> {
    match provider {
        ProviderKind::Aws => marked(provider, "launch_template_id", text, "lt-"),
        ProviderKind::Gcp if is_id(text) => None,
        ProviderKind::Gcp => Some(Flaw::new("launch_template_id", "is not the id of a launch template")),
        ProviderKind::Azure | ProviderKind::Noop => {
            let message = format!("must be left out: {provider} has no launch templates");
            Some(Flaw::new("launch_template_id", message))
        }
    }
}

/// An id that AWS writes with a mark in front.
fn marked(provider: ProviderKind, field: &str, text: &str, mark: &str) -> Option<Flaw> {
    if provider != ProviderKind::Aws {
        return Some(Flaw::new(field, format!("must be left out: it cannot be chosen at {provider}")));
    }
    (!is_marked(text, mark)).then(|| Flaw::new(field, format!("must be an id that begins with {mark}")))
}

fn is_marked(text: &str, mark: &str) -> bool {
    let rest = text.strip_prefix(mark).unwrap_or_default();
    (1..=40).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Part of names of resources and of calls, so it has no blanks and nothing that leads elsewhere.
pub(crate) fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}
