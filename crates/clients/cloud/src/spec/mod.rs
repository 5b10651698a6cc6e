//! What is known of a cloud without asking it: names, limits, rules and defaults. One file per cloud; all other code asks
//! the spec and does not match on the kind.

mod aws;
mod azure;
mod gcp;
mod noop;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Access, Architecture, PartKind, UploadTarget};

/// The clouds that can be named, with the numbers that clients know them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    Noop,
    Aws,
    Azure,
    Gcp,
}

impl ProviderKind {
    pub const ALL: [ProviderKind; 4] =
        [ProviderKind::Noop, ProviderKind::Aws, ProviderKind::Azure, ProviderKind::Gcp];

    pub fn number(self) -> i64 {
        self.spec().number
    }

    pub fn as_str(self) -> &'static str {
        self.spec().name
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ProviderKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        ProviderKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let names = ProviderKind::NAMES.join(", ");
            format!("{text:?} is not a provider; the providers are {names}")
        })
    }
}

#[derive(Debug)]
pub struct ProviderSpec {
    /// As APIs and saved rows write it.
    pub name: &'static str,
    /// As people write it.
    pub title: &'static str,
    /// The number by which clients know it.
    pub number: i64,
    /// Where the Image Builder puts images, and so where instances start when no region is given.
    pub home: &'static str,
    /// Whether an image starts only in its own region, and a launch template belongs to one.
    pub is_regional: bool,
    /// Whether only the cloud knows in which region an image starts. A launch that names none goes there.
    pub region_of_image: bool,
    /// The region, and its zone where the text names both.
    pub split_zone: fn(&str) -> (&str, Option<&str>),
    /// The table of instance types that is part of the program.
    pub instance_types: Option<&'static str>,
    /// Who logs in to an instance of an image from the Image Builder.
    pub ssh_user: Option<&'static str>,
    pub keys: KeySpec,
    pub build: BuildSpec,
    pub names: NameSpec,
    /// Nothing where no account is needed.
    pub source: Option<SourceSpec>,
    pub form: FormSpec,
    /// The parameters of a launch that not every cloud has, in the order of forms.
    pub parameters: &'static [ParameterSpec],
    /// What a launch makes beside its instances. A network is made before them.
    pub parts: &'static [PartKind],
    /// Whether instances get the script that tags them for Insights.
    pub has_insights_script: bool,
    /// The steps that older clients are shown.
    pub legacy_steps: &'static [LegacyStep],
}

/// Which public keys its instances take.
#[derive(Debug)]
pub struct KeySpec {
    /// By the type, as OpenSSH writes it.
    pub accepts: fn(&str) -> bool,
    /// What to use in place of a key that is not accepted.
    pub instead: &'static str,
    /// Whether a key is uploaded before instances can have it.
    pub are_uploaded: bool,
}

/// An option of an upload, by its name.
pub type UploadOption<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What an upload names, by the name of the option.
pub type UploadOptions = BTreeMap<&'static str, UploadValue>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadValue {
    Text(String),
    List(Vec<String>),
}

/// Images that the Image Builder makes for it.
#[derive(Debug)]
pub struct BuildSpec {
    pub image_types: &'static [&'static str],
    pub bytes_max: Option<u64>,
    /// The accounts that an image is shared with. Nothing where images are not shared.
    pub shared_account: Option<Rule>,
    /// What its images can be made for.
    pub architectures: &'static [Architecture],
    /// What an upload must name.
    pub upload_options: &'static [&'static str],
    /// The options of an upload that puts an image where the account can start it.
    pub upload: fn(&UploadTarget) -> UploadOptions,
    /// Whether those whom an image is shared with are ourselves, and not the accounts that start it.
    pub shares_with_us: bool,
    /// The id of the image, from the options of an upload that is done and, for what these leave out, of its request.
    pub image_id: fn(&UploadOption<'_>) -> Option<String>,
}

/// How its names and ids are written. Nothing where a value cannot be chosen.
#[derive(Debug)]
pub struct NameSpec {
    pub image_id: Rule,
    pub instance: Rule,
    pub launch_template: Option<Rule>,
}

/// Accounts, as the Sources service and our own sources know them.
#[derive(Debug)]
pub struct SourceSpec {
    /// The name and the number of its kind of source at the hosted service.
    pub type_name: &'static str,
    pub type_id: &'static str,
    /// The kind of authentication that is meant for us, and what it names.
    pub authentication: &'static str,
    pub account: &'static str,
    /// The account that the sandbox knows.
    pub sandbox_account: &'static str,
    /// Whether the name of an account is that of a role which is taken with an external id.
    pub by_role: bool,
    /// What is wrong with a way into an account of the organisation.
    pub check: fn(&str, &Access) -> Vec<Invalid>,
}

/// What forms say about it, in its own words.
#[derive(Debug)]
pub struct FormSpec {
    /// What it calls the place of an instance, such as a region or a zone.
    pub region: FieldSpec,
    pub image_id: FieldSpec,
    pub instance_name: FieldSpec,
    pub instance_type: FieldSpec,
    /// The ways into an account; a user takes one of them.
    pub account: &'static [AccountWay],
    /// What the names of the types begin with that most people want, the usual ones first.
    pub families: &'static [&'static str],
    /// The types that a new launch begins with: the first one that fits the image.
    pub first_types: &'static [&'static str],
}

/// A parameter of a launch that not every cloud has. Forms, pages and checks are made from it.
#[derive(Debug)]
pub struct ParameterSpec {
    /// As requests to the API name it.
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    pub rule: Rule,
    /// How many values one launch takes, where requests have a list.
    pub values_max: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct FieldSpec {
    pub label: &'static str,
    pub hint: &'static str,
}

impl FieldSpec {
    pub const NONE: FieldSpec = FieldSpec { label: "", hint: "" };
}

/// One way into an account: what it is, and what it asks for.
#[derive(Debug)]
pub struct AccountWay {
    pub title: &'static str,
    pub fields: &'static [AccountField],
}

#[derive(Debug)]
pub struct AccountField {
    /// As requests to the API name it.
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    pub is_secret: bool,
}

impl FormSpec {
    pub const NONE: FormSpec = FormSpec {
        region: FieldSpec::NONE,
        image_id: FieldSpec::NONE,
        instance_name: FieldSpec::NONE,
        instance_type: FieldSpec::NONE,
        account: &[],
        families: &[],
        first_types: &[],
    };

    /// All fields of all ways into an account.
    pub fn account_fields(&self) -> impl Iterator<Item = &'static AccountField> {
        self.account.iter().flat_map(|way| way.fields)
    }
}

/// A form of text.
#[derive(Debug)]
pub struct Rule {
    pub fits: fn(&str) -> bool,
    /// What is wrong with a text that does not fit.
    pub message: &'static str,
}

impl Rule {
    pub fn broken_by(&self, text: &str) -> Option<&'static str> {
        (!(self.fits)(text)).then_some(self.message)
    }
}

/// What is wrong with a field, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub field: &'static str,
    pub message: String,
    pub hint: Option<&'static str>,
}

impl Invalid {
    fn new(field: &'static str, message: impl Into<String>) -> Invalid {
        Invalid { field, message: message.into(), hint: None }
    }

    fn hint(self, hint: &'static str) -> Invalid {
        Invalid { hint: Some(hint), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegacyStep {
    Test,
    PublicKey,
    ResourceGroup,
    Launch,
    Addresses,
}

impl ProviderKind {
    /// In alphabetical order.
    pub const NAMES: [&'static str; 4] = [aws::SPEC.name, azure::SPEC.name, gcp::SPEC.name, noop::SPEC.name];

    pub fn spec(self) -> &'static ProviderSpec {
        match self {
            ProviderKind::Noop => &noop::SPEC,
            ProviderKind::Aws => &aws::SPEC,
            ProviderKind::Azure => &azure::SPEC,
            ProviderKind::Gcp => &gcp::SPEC,
        }
    }
}

impl ProviderKind {
    /// Those that launch something, in the order in which people are offered them.
    pub fn clouds() -> impl Iterator<Item = ProviderKind> {
        ProviderKind::ALL.into_iter().filter(|kind| kind.spec().source.is_some())
    }

    /// The names of the parameters that not every cloud has.
    pub fn parameter_names() -> BTreeSet<&'static str> {
        ProviderKind::ALL.into_iter().flat_map(|kind| kind.spec().parameters).map(|one| one.name).collect()
    }

    /// The cloud for which the Image Builder makes images of this type.
    pub fn of_image_type(image_type: &str) -> Option<ProviderKind> {
        ProviderKind::clouds().find(|kind| kind.spec().build.image_types.contains(&image_type))
    }
}

/// The name of a cloud as people write it, from the one that APIs and saved rows have.
pub fn title(provider: &str) -> &str {
    provider.parse::<ProviderKind>().map_or(provider, |kind| match kind.spec().title {
        "" => provider,
        title => title,
    })
}

/// How to log in to an instance, ready to be pasted into a shell: nothing but an address may be in it.
pub fn ssh_command(provider: &str, address: &str) -> Option<String> {
    let user = provider.parse::<ProviderKind>().ok()?.spec().ssh_user?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
    let is_host = !address.is_empty() && !address.starts_with('-') && address.bytes().all(is_plain);
    is_host.then(|| format!("ssh {user}@{address}"))
}

/// Part of names of resources and of calls, so it has no blanks and nothing that leads elsewhere.
pub fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The id of an instance: that of Azure is a path.
pub fn is_instance_id(text: &str) -> bool {
    is_id(text) || (text.starts_with('/') && is_address(text))
}

const ID_CHARS_MAX: usize = 128;
/// A number is put behind the name of an instance.
const PREFIX_CHARS_MAX: usize = 50;
/// Longer than any address of an image.
const IMAGE_CHARS_MAX: usize = 512;
const BOTH: &[Architecture] = &[Architecture::X86_64, Architecture::Arm64];
const X86_64: &[Architecture] = &[Architecture::X86_64];
const GIB: u64 = 1024 * 1024 * 1024;

fn is_address(text: &str) -> bool {
    (1..=IMAGE_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn whole(region: &str) -> (&str, Option<&str>) {
    (region, None)
}

/// What a tag of AWS takes; where no instances are made it is as good as any.
const TAG: Rule = Rule {
    fits: |text| {
        let fits = |c: char| c.is_alphanumeric() || " +-=._:/@".contains(c);
        text.chars().count() <= 128 && text.chars().all(fits)
    },
    message: "must be 1 to 128 letters, digits, spaces and + - = . _ : / @",
};

/// An account that is known by its name alone.
fn named(access: &Access, else_message: &str) -> Vec<Invalid> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    match access {
        Access::Name(name) if (1..=128).contains(&name.len()) && name.bytes().all(is_plain) => Vec::new(),
        Access::Name(_) => vec![Invalid::new("access", "must be an id of 1 to 128 plain characters")],
        _ => vec![Invalid::new("access", else_message)],
    }
}
