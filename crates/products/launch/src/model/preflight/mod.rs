//! What can be told about a launch before anything is done: whether the image, the place, the type, the key and the
//! account fit together. Pure; the queue asks it when something comes in, and the first step asks it again.

pub mod build;
mod image;
mod names;

use cloud::{Access, Account, ProviderKind};

pub use self::image::{ImageFacts, Shares};
use super::api_error::{Flaw, quoted};
use super::catalog::{TypeCatalog, TypeEntry, TypeListing};
use super::params::{ImageChoice, LaunchParameters, Params};
use super::public_key::PublicKey;
use super::settings::{LaunchSettings, Launches};
use super::state::ResolvedImage;

/// Everything that is needed to judge.
#[derive(Debug, Clone, Copy)]
pub struct Preflight<'a> {
    pub settings: &'a LaunchSettings,
    pub provider: ProviderKind,
    pub image: &'a ImageFacts,
    pub parameters: &'a LaunchParameters,
    pub offer: Availability<'a>,
    /// Nothing where it was not looked up.
    pub account: Option<&'a Account>,
}

/// What the region offers.
#[derive(Debug, Clone, Copy)]
pub enum Availability<'a> {
    Listed(&'a TypeListing),
    /// The region is unknown.
    UnknownRegion,
    /// The cloud was not asked: only what the program itself knows can refuse a launch.
    NotAsked,
}

/// The same checks in the middle of a launch, where the account and the lists are not asked again.
pub fn check(
    launches: &Launches,
    params: &Params,
    parameters: &LaunchParameters,
    resolved: Option<&ResolvedImage>,
) -> Result<(), Vec<Flaw>> {
    if params.provider == ProviderKind::Noop {
        return Ok(());
    }
    let mut image = ImageFacts::of(params.provider, &params.image);
    if let Some(resolved) = resolved {
        image = image.known_as(resolved);
    }
    let preflight = Preflight {
        settings: &launches.settings,
        provider: params.provider,
        image: &image,
        parameters,
        offer: Availability::NotAsked,
        account: None,
    };
    preflight.check()
}

/// Whether the image that was asked for can be launched at this provider at all.
pub fn check_image(provider: ProviderKind, image: &ImageChoice, has_parameters: bool) -> Vec<Flaw> {
    match image {
        ImageChoice::Cloud { id } => names::image(provider, id).into_iter().collect(),
        ImageChoice::Build(_) | ImageChoice::Compose { .. } if provider == ProviderKind::Noop => {
            vec![Flaw::new("image_id", "must be left out: the provider noop starts no image")]
        }
        ImageChoice::None | ImageChoice::Build(_) | ImageChoice::Compose { .. } => Vec::new(),
    }
    .into_iter()
    .chain(needs_parameters(provider, image, has_parameters))
    .collect()
}

/// Only who waits for an image can wait for parameters.
fn needs_parameters(provider: ProviderKind, image: &ImageChoice, has_parameters: bool) -> Option<Flaw> {
    let is_there = matches!(image, ImageChoice::None | ImageChoice::Cloud { .. });
    (is_there && !has_parameters && provider != ProviderKind::Noop).then(|| {
        Flaw::new("parameters", "are missing; they can come later only while an image is built")
            .hint("say where and how to launch, or build an image")
    })
}

impl Preflight<'_> {
    /// Everything that is wrong, not only the first thing.
    pub fn check(&self) -> Result<(), Vec<Flaw>> {
        let mut field_errors = names::check(self.provider, self.parameters);
        field_errors.extend(self.amount());
        field_errors.extend(self.region_errors());
        field_errors.extend(self.instance_type());
        field_errors.extend(self.key());
        field_errors.extend(self.source());
        if field_errors.is_empty() { Ok(()) } else { Err(field_errors) }
    }

    fn amount(&self) -> Option<Flaw> {
        let most = self.settings.amount_max;
        let fits = (1..=most).contains(&self.parameters.amount);
        (!fits).then(|| Flaw::new("amount", format!("must be 1 to {most}")))
    }

    fn region_errors(&self) -> Vec<Flaw> {
        let region = &self.parameters.region;
        let mut field_errors = Vec::new();
        if matches!(self.offer, Availability::UnknownRegion) {
            let message = format!("{} is not a region of {}", quoted(region), self.provider);
            let known: Vec<&str> =
                TypeCatalog::shipped().regions(self.provider).take(REGIONS_SHOWN).collect();
            field_errors
                .push(Flaw::new("region", message).hint(format!("choose one such as {}", known.join(", "))));
        }
        let (own, _) = (self.provider.spec().split_zone)(region);
        let is_elsewhere = |home: &&String| !home.eq_ignore_ascii_case(region) && *home != own;
        if let Some(home) = self.image.region.as_ref().filter(is_elsewhere) {
            let message = format!("the image is in {home} and cannot be launched in {}", quoted(region));
            field_errors.push(Flaw::new("region", message).hint(format!("choose {home}")));
        }
        field_errors
    }

    /// A template may name the type. A type that is named is used, and must fit.
    fn instance_type(&self) -> Option<Flaw> {
        let Some(name) = &self.parameters.instance_type else {
            let has_template = self.parameters.launch_template_id.is_some();
            return (!has_template).then(|| {
                Flaw::new("instance_type", "is missing").hint("name one, or a launch template that names one")
            });
        };
        let Some(entry) = self.entry(name) else {
            let (name, region) = (quoted(name), quoted(&self.parameters.region));
            let is_listed = matches!(self.offer, Availability::Listed(_));
            return is_listed.then(|| {
                Flaw::new("instance_type", format!("{name} is not offered in {region}"))
                    .hint("choose one of the instance types that are listed for the region")
            });
        };
        if let Some(needs) = self.image.architecture.filter(|needs| *needs != entry.architecture) {
            let (has, needs) = (entry.architecture.as_str(), needs.as_str());
            let message = format!("{name} is {has}, and the image is made for {needs}");
            let hint = format!("choose a type with architecture {needs}");
            return Some(Flaw::new("instance_type", message).hint(hint));
        }
        let needs = self.image.generation.as_ref().filter(|needs| !entry.starts(needs))?;
        let message = format!("{name} does not start images of generation {needs}");
        Some(Flaw::new("instance_type", message).hint(format!("choose a type with generation {needs}")))
    }

    fn entry(&self, name: &str) -> Option<&TypeEntry> {
        match self.offer {
            Availability::Listed(listing) => listing.find(name),
            Availability::UnknownRegion => None,
            Availability::NotAsked => {
                TypeCatalog::shipped().find(self.provider, &self.parameters.region, name)
            }
        }
    }

    /// Without a template, a key is the only way in.
    fn key(&self) -> Option<Flaw> {
        let Some(key) = &self.parameters.key else {
            let has_template = self.parameters.launch_template_id.is_some();
            return (!has_template).then(|| {
                Flaw::new("pubkey_id", "is missing").hint("name the public key that lets you log in")
            });
        };
        let accepted = PublicKey::parse(&key.line)
            .map_err(|error| error.to_string())
            .and_then(|parsed| parsed.accepted_by(self.provider));
        accepted.err().map(|why| Flaw::new("pubkey_id", why).hint("use another key"))
    }

    /// The image must be shared with the account in which it is launched.
    fn source(&self) -> Option<Flaw> {
        let account = self.account?;
        if account.provider != self.provider {
            let message = format!("is an account at {}, not at {}", account.provider, self.provider);
            return Some(Flaw::new("source_id", message).hint("choose a source of the same provider"));
        }
        let shares = self.image.shares.as_ref()?;
        let id = account_id(account);
        shares.excludes(&account.source, id.as_deref()).then(|| {
            let who = id.unwrap_or_else(|| account.source.clone());
            Flaw::new("source_id", format!("the image is not shared with account {who}"))
                .hint("choose a source that the image is shared with, or share the image with this one")
        })
    }
}

/// Enough to show what is meant.
const REGIONS_SHOWN: usize = 40;

/// The id of an account, where its access tells it: the account of a role, a subscription, a project.
pub fn account_id(account: &Account) -> Option<String> {
    match &account.access {
        Access::Role { arn, .. } => arn.split(':').nth(4).filter(|id| !id.is_empty()).map(str::to_owned),
        Access::Name(name) => Some(name.clone()),
        Access::Keys { .. } => None,
    }
}
