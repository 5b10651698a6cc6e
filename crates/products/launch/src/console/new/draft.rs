//! What was typed so far. The server keeps it from page to page, and every page changes its own fields alone.

use std::collections::BTreeMap;

use cloud::spec::ParameterSpec;
use cloud::{ProviderKind, ProviderSpec};
use uuid::Uuid;

use super::step::WizardStep;
use console::Fields;

/// Everything that is asked for once, beside the parameters that not every cloud has.
const NAMES: [&str; 25] = [
    "once",
    "provider",
    "image",
    "compose_id",
    "image_id",
    "distribution",
    "architecture",
    "image_name",
    "packages",
    "source_id",
    "region",
    "instance_type",
    "launch_template_id",
    "amount",
    "name",
    "user_data",
    "poweroff",
    "key",
    "pubkey_id",
    "pubkey_name",
    "pubkey_body",
    "profile",
    "later",
    "detach",
    "partial",
];
/// What a new draft builds, where the caller may have it.
pub(crate) const DISTRIBUTION: &str = "rhel-9";
/// What the fields of a new draft hold.
const DEFAULTS: [(&str, &str); 7] = [
    ("distribution", DISTRIBUTION),
    ("architecture", "x86_64"),
    ("amount", "1"),
    ("profile", "wizard"),
    ("detach", "continue"),
    ("partial", "all_or_nothing"),
    ("key", ""),
];
const USERS_MAX: usize = 20;
/// What belongs to one cloud and means nothing in another, beside its own parameters.
const OF_CLOUD: [&str; 6] =
    ["image", "compose_id", "image_id", "source_id", "instance_type", "launch_template_id"];
fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(ProviderKind::parameter_names())
}

/// What no form of a page changes.
const FIXED: [&str; 2] = ["once", "provider"];

/// What a page offers before an image and an account are chosen.
fn first_region(cloud: ProviderKind) -> &'static str {
    if cloud.spec().region_of_image { "" } else { cloud.spec().home }
}

/// A user who can log in to every instance made from an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImageUser {
    pub(crate) name: String,
    pub(crate) key: String,
}

/// The text for the first start may hold secrets: this has no `Debug`.
#[derive(Clone, Default)]
pub(crate) struct Draft {
    texts: BTreeMap<&'static str, String>,
    pub(crate) users: Vec<ImageUser>,
}

impl Draft {
    /// A new one, with a word of its own by which two clicks are one launch.
    pub(crate) fn new() -> Draft {
        let mut draft = Draft::default();
        for (name, value) in DEFAULTS {
            draft.set(name, value);
        }
        draft.set("region", first_region(draft.provider()));
        draft.renew();
        draft
    }

    /// The cloud that it launches in.
    pub(crate) fn provider(&self) -> ProviderKind {
        let named = self.get("provider").parse().ok();
        let named = named.filter(|kind| ProviderKind::clouds().any(|cloud| cloud == *kind));
        named.or(ProviderKind::clouds().next()).unwrap_or(ProviderKind::Noop)
    }

    pub(crate) fn spec(&self) -> &'static ProviderSpec {
        self.provider().spec()
    }

    /// From now on it is a launch in this cloud. What was said for another one is gone.
    pub(crate) fn choose_cloud(&mut self, cloud: ProviderKind) {
        if cloud != self.provider() {
            for name in OF_CLOUD.into_iter().chain(ProviderKind::parameter_names()) {
                self.set(name, "");
            }
            self.set("region", first_region(cloud));
            let architectures = cloud.spec().build.architectures;
            if !architectures.iter().any(|one| self.is("architecture", one.of_builder())) {
                self.set("architecture", architectures.first().map_or("", |first| first.of_builder()));
            }
        }
        self.set("provider", cloud.as_str());
    }

    pub(crate) fn read(fields: &Fields) -> Draft {
        let mut draft = Draft::default();
        for name in names() {
            draft.set(name, fields.text(name));
        }
        draft.users = users(fields);
        if Uuid::try_parse(draft.get("once")).is_err() {
            draft.renew();
        }
        draft
    }

    /// Takes over the fields of one page, as the form of that page sends them.
    pub(crate) fn take(&mut self, fields: &Fields, page: WizardStep) {
        for name in names().filter(|name| !FIXED.contains(name) && WizardStep::of(name) == page) {
            self.set(name, fields.text(name));
        }
        if page == WizardStep::Image {
            self.users = users(fields);
        }
    }

    /// Everything, for the server to keep.
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        let users =
            self.users.iter().flat_map(|user| [("user_name", user.name.as_str()), ("user_key", &user.key)]);
        self.texts.iter().map(|(name, value)| (*name, value.as_str())).chain(users).collect()
    }

    /// Its name in addresses, and the word by which two clicks are one launch.
    pub(crate) fn id(&self) -> &str {
        self.get("once")
    }

    /// From now on it is another launch.
    pub(crate) fn renew(&mut self) {
        self.set("once", &Uuid::from_u128(rand::random()).to_string());
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|text| !text.is_empty())
    }

    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        if value.is_empty() {
            self.texts.remove(name);
        } else {
            self.texts.insert(name, value.to_owned());
        }
    }

    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == value
    }

    pub(crate) fn builds(&self) -> bool {
        self.is("image", "build")
    }

    /// An image that takes a while can be asked for before it is known where to launch it.
    pub(crate) fn may_wait(&self) -> bool {
        self.builds() || self.is("image", "ready")
    }

    pub(crate) fn is_later(&self) -> bool {
        self.is("later", "yes") && self.may_wait()
    }

    pub(crate) fn amount(&self) -> Option<u32> {
        self.get("amount").parse().ok()
    }

    /// What was typed for a parameter that not every cloud has.
    pub(crate) fn values(&self, parameter: &ParameterSpec) -> Vec<&str> {
        match parameter.values_max {
            Some(_) => words(self.get(parameter.name)),
            None => self.given(parameter.name).into_iter().collect(),
        }
    }

    pub(crate) fn packages(&self) -> Vec<&str> {
        words(self.get("packages"))
    }
}

/// Those that are in a form, without empty lines.
fn users(fields: &Fields) -> Vec<ImageUser> {
    let keys = fields.all("user_key").map(str::to_owned);
    let users = fields.all("user_name").map(str::to_owned).zip(keys);
    let users = users.map(|(name, key)| ImageUser { name, key });
    users.filter(|user| *user != ImageUser::default()).take(USERS_MAX).collect()
}

/// Words with blanks, commas or new lines between them.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Fields::from(owned.collect::<Vec<_>>())
    }

    #[test]
    fn a_draft_is_kept_whole_and_a_page_changes_its_own_fields_alone() {
        let mut draft = Draft::new();
        for name in names().filter(|name| !FIXED.contains(name)) {
            draft.set(name, &format!("value of {name}"));
        }
        draft.users = vec![
            ImageUser { name: "ann".into(), key: String::new() },
            ImageUser { name: "bob".into(), key: "k".into() },
        ];
        let kept = Draft::read(&fields(&draft.pairs()));
        assert_eq!(kept.pairs(), draft.pairs());
        for page in WizardStep::ALL {
            let mut changed = draft.clone();
            changed.take(&fields(&[("region", "eu"), ("image_name", "x"), ("pubkey_name", "k")]), page);
            let of_others = |(name, _): &(&str, &str)| WizardStep::of(name) != page || *name == "once";
            let others = |draft: &Draft| -> Vec<(String, String)> {
                let kept = draft.pairs().into_iter().filter(of_others);
                kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
            };
            assert_eq!(others(&changed), others(&draft), "{page:?}");
            assert_eq!(changed.get("region") == "eu", page == WizardStep::Where);
            assert_eq!(changed.users.is_empty(), page == WizardStep::Image);
        }
    }

    #[test]
    fn what_was_said_for_one_cloud_is_not_said_for_another() {
        let mut draft = Draft::new();
        for (name, value) in
            [("source_id", "s"), ("architecture", "aarch64"), ("name", "web"), ("key", "kept")]
        {
            draft.set(name, value);
        }
        draft.choose_cloud(ProviderKind::Gcp);
        assert_eq!((draft.provider(), draft.get("region")), (ProviderKind::Gcp, "us-central1-a"));
        assert_eq!([draft.get("source_id"), draft.get("architecture")], ["", "x86_64"]);
        assert_eq!([draft.get("name"), draft.get("key")], ["web", "kept"]);
        draft.set("region", "europe-west1-b");
        draft.choose_cloud(ProviderKind::Gcp);
        assert_eq!(draft.get("region"), "europe-west1-b", "the same cloud changes nothing");
        draft.choose_cloud(ProviderKind::Azure);
        assert_eq!(draft.get("region"), "", "the image says where");
        draft.set("provider", "noop");
        assert_eq!(draft.provider(), ProviderKind::Aws, "nothing can be launched there");
    }

    #[test]
    fn a_draft_has_one_word_until_it_is_renewed() {
        let mut draft = Draft::new();
        let word = draft.id().to_owned();
        assert_eq!(Draft::read(&fields(&draft.pairs())).id(), word);
        assert_ne!(Draft::read(&fields(&[("once", "<b>")])).id(), "<b>");
        draft.renew();
        assert_ne!(draft.id(), word);
    }
}
