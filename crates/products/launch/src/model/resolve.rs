//! What a form means: the key and the account behind its numbers, what the region offers, and whether all of it fits.

use api::Code;
use cloud::spec::is_id;
use cloud::{Account, ProviderKind};
use engine::Engine;
use http::StatusCode;
use identity::CallerIdentity;
use image_builder::{BuilderError, Compose, Distribution};
use uuid::Uuid;

use super::admit;
use super::api_error::{Flaw, LaunchApiError, quoted};
use super::builder_identity::BuilderIdentity;
use super::catalog;
use super::params::{LaunchOwner, RequestedParameters};
use super::preflight::build::BuildFacts;
use super::preflight::{Availability, ImageFacts, Preflight};
use super::public_keys;
use super::settings::Launches;
use super::source_access;
use super::user_data;
use crate::api::types::NewParameters;

/// Who asks, and where to look.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    pub(crate) launches: &'a Launches,
    pub(crate) engine: &'a Engine,
    pub(crate) who: &'a LaunchOwner,
}

/// Everything that is wrong, and whether all that is wrong is that something does not exist.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    field_errors: Vec<Flaw>,
    missing: usize,
}

impl Findings {
    /// What was told before is not told again.
    pub(crate) fn add(&mut self, field_errors: impl IntoIterator<Item = Flaw>) {
        for field_error in field_errors {
            if !self.field_errors.contains(&field_error) {
                self.field_errors.push(field_error);
            }
        }
    }

    fn miss(&mut self, field_error: Flaw) {
        self.field_errors.push(field_error);
        self.missing += 1;
    }

    fn names(&self, field: &str) -> bool {
        self.field_errors.iter().any(|field_error| field_error.field == field)
    }

    /// The status for what is wrong is the API's: `400` for a request, `422` for parameters that come later.
    pub(crate) fn verdict(self, status: StatusCode) -> Result<(), LaunchApiError> {
        if self.field_errors.is_empty() {
            return Ok(());
        }
        if self.missing == self.field_errors.len() {
            return Err(LaunchApiError::with_field_errors(StatusCode::NOT_FOUND, self.field_errors));
        }
        Err(LaunchApiError::with_field_errors(status, self.field_errors))
    }
}

/// What the form names by a number.
const LOOKED_UP: [&str; 2] = ["pubkey_id", "source_id"];

impl Resolver<'_> {
    /// Looks up what the form names and checks it all.
    pub(crate) async fn parameters(
        &self,
        provider: ProviderKind,
        image: &ImageFacts,
        form: &NewParameters,
        findings: &mut Findings,
    ) -> Result<RequestedParameters, LaunchApiError> {
        let key = match form.pubkey_id {
            Some(number) => public_keys::find(self.engine, self.who, number).await?,
            None => None,
        };
        if form.pubkey_id.is_some() && key.is_none() {
            findings
                .miss(Flaw::new("pubkey_id", "there is no such public key").hint("choose one of your keys"));
        }
        let mut asked = form.asked(provider, key.map(public_keys::StoredPublicKey::choice));
        let source = &asked.plain.source_id;
        // What has not the form of an id is told by the preflight.
        let account = if is_id(source) { self.launches.accounts.get(self.who, source).await? } else { None };
        if account.is_none() && is_id(source) {
            let hint = "choose one of your sources";
            findings.miss(Flaw::new("source_id", "there is no such source").hint(hint));
        }
        if form.names_no_region() {
            match self.default_region(image, account.as_ref()).await {
                Ok(region) => asked.plain.region = region.unwrap_or(asked.plain.region),
                Err(field_error) => findings.add([field_error]),
            }
        }
        let listing = catalog::overlaid(self.engine, provider, &asked.plain.region, None).await?;
        let preflight = Preflight {
            settings: &self.launches.settings,
            provider,
            image,
            parameters: &asked.plain,
            offer: listing.as_ref().map_or(Availability::UnknownRegion, Availability::Listed),
            account: account.as_ref(),
        };
        let mut wrong = preflight.check().err().unwrap_or_default();
        wrong.extend(account.as_ref().and_then(|account| self.not_shared(account, image)));
        // What does not exist has been told already.
        let told = |field_error: &Flaw| {
            LOOKED_UP.contains(&field_error.field.as_str()) && findings.names(&field_error.field)
        };
        let updates: Vec<Flaw> = wrong.into_iter().filter(|field_error| !told(field_error)).collect();
        findings.add(updates);
        findings.add(admit::check_sizes(&asked).err().unwrap_or_default());
        findings.add(user_data::check(&self.launches.settings, provider, &asked));
        Ok(asked)
    }

    /// Where the image can be launched, if that is one region only. Nothing where the cloud's usual region will do.
    async fn default_region(
        &self,
        image: &ImageFacts,
        account: Option<&Account>,
    ) -> Result<Option<String>, Flaw> {
        if image.region.is_some() {
            return Ok(image.region.clone());
        }
        let (Some(account), Some(id)) = (account, &image.cloud_id) else { return Ok(None) };
        let Some(reached) = source_access::enter(self.launches, self.who, account.clone()) else {
            return Ok(None);
        };
        let region =
            reached.provider.image_region(&reached.cloud_account(account.provider.spec().home), id).await;
        region.map_err(|error| {
            let message =
                format!("is missing, and where the image is cannot be looked up: {}", error.message);
            Flaw::new("region", message).hint("name the region of the image")
        })
    }

    /// An image that stays with the Image Builder must be shared with us, whichever account starts it. Who is behind a
    /// group or a domain is not known here.
    fn not_shared(&self, account: &Account, image: &ImageFacts) -> Option<Flaw> {
        let members = image.members.as_ref()?;
        let provider = self.launches.providers.get(&account.provider)?;
        let us = format!("serviceAccount:{}", provider.principal(account)?);
        let may_be_us =
            |member: &String| *member == us || member.starts_with("group:") || member.starts_with("domain:");
        (!members.iter().any(may_be_us)).then(|| {
            Flaw::new("source_id", format!("the image is not shared with {us}"))
                .hint(format!("add {us} to share_with_accounts of the build"))
        })
    }

    /// What the Image Builder knows about an image that a client had built.
    pub(crate) async fn compose(
        &self,
        identity: &CallerIdentity,
        provider: ProviderKind,
        id: Uuid,
        findings: &mut Findings,
    ) -> Result<ImageFacts, LaunchApiError> {
        match self.read_compose(identity, id).await? {
            LookupResult::Found(compose) => match ImageFacts::of_compose(provider, &compose) {
                Ok(facts) => return Ok(facts),
                Err(field_error) => findings.add([field_error]),
            },
            LookupResult::Missing => {
                let hint = "build one first, or name an image of the cloud";
                findings.miss(Flaw::new("image_id", "there is no such image").hint(hint));
            }
            LookupResult::Unknown => {}
        }
        Ok(ImageFacts::default())
    }

    /// The caller at the Image Builder, where there is one.
    pub(crate) fn builder_identity(
        &self,
        forwarded: Option<&CallerIdentity>,
    ) -> Result<BuilderIdentity, LaunchApiError> {
        self.launches.builder.as_ref().ok_or_else(no_builder)?;
        self.launches.builder_identity(self.who, forwarded)
    }

    /// Whether the caller may build this distribution, for this architecture and cloud.
    pub(crate) async fn distribution(
        &self,
        identity: &CallerIdentity,
        facts: &BuildFacts,
        findings: &mut Findings,
    ) -> Result<(), LaunchApiError> {
        let builder = self.launches.builder.as_ref().ok_or_else(no_builder)?;
        let Some(name) = facts.distribution.as_deref() else { return Ok(()) };
        let offered = match builder.architectures(identity, name).await {
            Ok(offered) => offered,
            // The launch itself will wait until the Image Builder answers.
            Err(error) if error.may_heal() => return Ok(()),
            Err(error) => {
                let message = match error {
                    BuilderError::Refused { status: 400 | 404, .. } | BuilderError::Unknown => {
                        format!("{} is not available to this organisation", quoted(name))
                    }
                    BuilderError::Refused { message, .. } => message,
                    other => other.to_string(),
                };
                let field_error = Flaw::new("build.distribution", message);
                let names = builder.distributions(identity).await.unwrap_or_default();
                findings.add([match choices(&names) {
                    Some(names) => field_error.hint(format!("choose one of {names}")),
                    None => field_error,
                }]);
                return Ok(());
            }
        };
        let arch = facts.architecture.of_builder();
        match offered.iter().find(|one| one.arch == arch) {
            None => {
                let field = "build.image_requests[0].architecture";
                findings.add([Flaw::new(field, format!("there is no {name} for {arch}"))]);
            }
            Some(one) if !one.image_types.iter().any(|kind| is_same_type(kind, &facts.image_type)) => {
                let message = format!("there is no {} image of {name} for {arch}", facts.image_type);
                findings.add([Flaw::new("build.image_requests[0].image_type", message)]);
            }
            Some(_) => {}
        }
        Ok(())
    }

    async fn read_compose(
        &self,
        identity: &CallerIdentity,
        id: Uuid,
    ) -> Result<LookupResult, LaunchApiError> {
        let builder = self.launches.builder.as_ref().ok_or_else(no_builder)?;
        match builder.status(identity, id).await {
            Ok(compose) => Ok(LookupResult::Found(Box::new(compose))),
            Err(BuilderError::Unknown) => Ok(LookupResult::Missing),
            // The launch itself will wait until the Image Builder answers.
            Err(error) if error.may_heal() => Ok(LookupResult::Unknown),
            Err(error) => Err(builder_error(&error).at("image_id")),
        }
    }
}

/// The Image Builder has older names for two of its image types, and lists one of both.
fn is_same_type(one: &str, other: &str) -> bool {
    let plain = |kind: &str| match kind {
        "ami" => "aws".to_owned(),
        "vhd" => "azure".to_owned(),
        kind => kind.to_owned(),
    };
    plain(one) == plain(other)
}

/// As many names as a sentence can have.
fn choices(offered: &[Distribution]) -> Option<String> {
    const NAMED_MAX: usize = 30;
    let mut names: Vec<&str> = offered.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.truncate(NAMED_MAX);
    (!names.is_empty()).then(|| names.join(", "))
}

enum LookupResult {
    Found(Box<Compose>),
    Missing,
    /// The Image Builder is not answering.
    Unknown,
}

/// What the Image Builder said, to the request that waits for its answer.
pub(crate) fn builder_error(error: &BuilderError) -> LaunchApiError {
    let message = error.to_string();
    match error {
        BuilderError::Unknown => LaunchApiError::not_found("such image"),
        BuilderError::Quota { .. } => LaunchApiError::new(Code::ImageBuilderQuota, message),
        BuilderError::Throttled { retry_after } => LaunchApiError::unavailable(message).after(*retry_after),
        BuilderError::Refused { .. } => LaunchApiError::new(Code::ImageBuilderRefused, message),
        BuilderError::Unreachable { .. } | BuilderError::TimedOut { .. } | BuilderError::Broken { .. } => {
            LaunchApiError::unavailable(message)
        }
    }
}

pub(crate) fn no_builder() -> LaunchApiError {
    LaunchApiError::new(Code::NoImageBuilder, "this server is connected to no Image Builder")
        .at("image_id")
        .hint("name an image of the cloud")
}
