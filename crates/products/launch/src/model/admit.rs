//! How a launch that was asked for becomes what is saved: checked in form and size, its secrets sealed.

use engine::secret::{Sealer, SecretString};
use identity;
use serde_json::Value;

use super::api_error::{Flaw, sentence};
use super::params::{
    Build, ImageChoice, LaunchOwner, LaunchRequest, Params, RequestedImage, RequestedParameters,
};
use super::preflight;
use super::preflight::build::{self, BuildFacts};
use super::profile::Profile;

/// What EC2 allows; others allow more.
pub const USER_DATA_BYTES_MAX: usize = 16 * 1024;
/// Becomes part of the name of a tenant.
const ORG_CHARS_MAX: usize = 64;
const USER_CHARS_MAX: usize = 256;
/// An operation may not take longer than 30 days.
const IMAGE_DEADLINE_S_MAX: u32 = 24 * 3600;
const PARAMETERS_TTL_S_MAX: u32 = 14 * 24 * 3600;
/// Looking more often than this is no fall-back.
const FALLBACK_POLL_S_MIN: u32 = 1;
/// No key pair has a longer name in AWS.
const KEY_NAME_CHARS_MAX: usize = 255;
const KEY_LINE_BYTES_MAX: usize = 16 * 1024;

/// Reads what an API has handed to the engine.
pub fn admit(asked: Value, sealer: &Sealer) -> Result<Params, String> {
    params(engine::parse(asked)?, sealer).map_err(|field_errors| sentence(&field_errors))
}

/// The same for a launch that is in our hands, with all that is wrong about it.
pub fn params(asked: LaunchRequest, sealer: &Sealer) -> Result<Params, Vec<Flaw>> {
    let mut field_errors = owner(&asked.owner);
    let identity = asked.identity.as_deref().map(identity::parse).transpose();
    field_errors.extend(identity.err().map(|error| Flaw::new("identity", error.to_string())));
    field_errors.extend(profile(&asked.profile));
    if let Some(parameters) = &asked.parameters {
        field_errors.extend(sizes(parameters));
    }
    let image = match asked.image {
        RequestedImage::None => Some(ImageChoice::None),
        RequestedImage::Cloud { id } => Some(ImageChoice::Cloud { id }),
        RequestedImage::Compose { id } => Some(ImageChoice::Compose { id }),
        RequestedImage::Build { request } => match build::read(asked.provider, &request) {
            Ok(facts) => Some(ImageChoice::Build(sealed(facts, &request, sealer))),
            Err(wrong) => {
                field_errors.extend(wrong);
                None
            }
        },
    };
    if let Some(image) = &image {
        field_errors.extend(preflight::check_image(asked.provider, image, asked.parameters.is_some()));
    }
    let Some(image) = image.filter(|_| field_errors.is_empty()) else { return Err(field_errors) };
    Ok(Params {
        launch: asked.launch,
        owner: asked.owner,
        identity: asked.identity.map(|identity| sealer.seal(&SecretString::from(identity))),
        builder_org: asked.builder_org,
        provider: asked.provider,
        image,
        parameters: asked.parameters.map(|parameters| parameters.sealed(sealer)),
        profile: asked.profile,
    })
}

fn sealed(facts: BuildFacts, request: &Value, sealer: &Sealer) -> Build {
    Build {
        distribution: facts.distribution,
        image_name: facts.image_name,
        architecture: facts.architecture,
        image_type: facts.image_type,
        share_with_accounts: facts.share_with_accounts,
        share_with_sources: facts.share_with_sources,
        request: sealer.seal(&SecretString::from(request.to_string())),
    }
}

impl Build {
    /// What the request said, as far as it is not sealed.
    pub(crate) fn facts(&self) -> BuildFacts {
        BuildFacts {
            distribution: self.distribution.clone(),
            image_name: self.image_name.clone(),
            architecture: self.architecture,
            image_type: self.image_type.clone(),
            share_with_accounts: self.share_with_accounts.clone(),
            share_with_sources: self.share_with_sources.clone(),
        }
    }
}

fn owner(owner: &LaunchOwner) -> Vec<Flaw> {
    let is_name = |text: &str| {
        (1..=ORG_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut field_errors = Vec::new();
    if !is_name(&owner.org) {
        let message = format!("must have 1 to {ORG_CHARS_MAX} visible characters");
        field_errors.push(Flaw::new("requester.org", message));
    }
    if owner.account.as_deref().is_some_and(|account| !is_name(account)) {
        let message = format!("must have 1 to {ORG_CHARS_MAX} visible characters");
        field_errors.push(Flaw::new("requester.account", message));
    }
    let user = &owner.user;
    if user.chars().count() > USER_CHARS_MAX || user.chars().any(char::is_control) {
        let message = format!("must have at most {USER_CHARS_MAX} characters and no control characters");
        field_errors.push(Flaw::new("requester.user", message));
    }
    field_errors
}

fn profile(profile: &Profile) -> Vec<Flaw> {
    let seconds = |field: &str, value: u32, most: u32| {
        let fits = (1..=most).contains(&value);
        (!fits).then(|| Flaw::new(format!("profile.{field}"), format!("must be 1 to {most} seconds")))
    };
    let mut field_errors = Vec::new();
    field_errors.extend(seconds("image_deadline_s", profile.image_deadline_s, IMAGE_DEADLINE_S_MAX));
    field_errors.extend(seconds("parameters_ttl_s", profile.parameters_ttl_s, PARAMETERS_TTL_S_MAX));
    if profile.fallback_poll_s.is_some_and(|every| every < FALLBACK_POLL_S_MIN) {
        let message = format!("must be at least {FALLBACK_POLL_S_MIN} second, or left out");
        field_errors.push(Flaw::new("profile.fallback_poll_s", message));
    }
    let mut surfaces = profile.surface.clone();
    surfaces.sort();
    surfaces.dedup();
    if surfaces.len() != profile.surface.len() {
        field_errors.push(Flaw::new("profile.surface", "names a surface twice"));
    }
    field_errors
}

/// What may be long and is not looked at elsewhere.
fn sizes(parameters: &RequestedParameters) -> Vec<Flaw> {
    let mut field_errors = Vec::new();
    if parameters.user_data.as_ref().is_some_and(|text| text.len() > USER_DATA_BYTES_MAX) {
        let message = format!("must have at most {USER_DATA_BYTES_MAX} bytes");
        field_errors
            .push(Flaw::new("user_data", message).hint("fetch larger files when the instance starts"));
    }
    if let Some(key) = &parameters.plain.key {
        let is_long = key.name.chars().count() > KEY_NAME_CHARS_MAX || key.line.len() > KEY_LINE_BYTES_MAX;
        if is_long {
            field_errors.push(Flaw::new("pubkey_id", "the key or its name is too long"));
        }
    }
    field_errors
}

/// What does not depend on anything but the parameters themselves: for parameters that come later.
pub(crate) fn check_sizes(parameters: &RequestedParameters) -> Result<(), Vec<Flaw>> {
    let field_errors = sizes(parameters);
    if field_errors.is_empty() { Ok(()) } else { Err(field_errors) }
}
