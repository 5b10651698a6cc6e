//! What was asked: as it comes from an API, and as it is saved, with its secrets sealed.

use std::fmt;

use cloud::{Architecture, ProviderKind};
use engine::Resource;
use engine::secret::{ExposeSecret, Sealed, Sealer, SecretString};
use identity;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};
use uuid::Uuid;

use super::profile::Profile;
pub use crate::api::types::{KeyChoice, LaunchParameters};

/// On whose behalf a launch is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchOwner {
    /// The organisation.
    pub org: String,
    /// Its account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// For people and for the journal.
    pub user: String,
}

impl LaunchOwner {
    /// The name between which work is shared fairly, and under which records are kept.
    pub fn tenant(&self) -> String {
        format!("org:{}", self.org)
    }

    /// Who asks, for the journal.
    pub fn name(&self) -> String {
        if self.user.is_empty() { self.tenant() } else { self.user.clone() }
    }

    /// Whom the services outside are called for.
    pub fn organisation(&self) -> identity::Organisation {
        identity::Organisation { org: self.org.clone(), account: self.account.clone() }
    }
}

/// A launch as it is handed to the engine, which seals what is secret. `Debug` leaves the identity out.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchRequest {
    /// The id of the launch.
    pub launch: Uuid,
    /// On whose behalf the launch is made.
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The identity header of the caller, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only, format = Password)]
    pub identity: Option<String>,
    /// The organisation at the Image Builder, where it has another name than here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder_org: Option<String>,
    #[schema(schema_with = provider_schema)]
    pub provider: ProviderKind,
    /// What the instances are made of.
    pub image: RequestedImage,
    /// Where and how to launch. Nothing means that the parameters come later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<RequestedParameters>,
    /// How the launch behaves.
    pub profile: Profile,
}

impl fmt::Debug for LaunchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("launch", &self.launch)
            .field("requester", &self.owner)
            .field("provider", &self.provider)
            .field("image", &self.image)
            .field("parameters", &self.parameters)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// A request may hold passwords and activation keys, so that `Debug` leaves it out.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestedImage {
    /// The launch template names it, or the provider needs none.
    None,
    /// An image of the cloud.
    Cloud { id: String },
    /// An image that the Image Builder makes or has made for a user.
    Compose { id: Uuid },
    /// A request to the Image Builder, word for word.
    Build {
        #[schema(write_only)]
        request: Value,
    },
}

impl fmt::Debug for RequestedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestedImage::None => f.write_str("None"),
            RequestedImage::Cloud { id } => f.debug_struct("Cloud").field("id", id).finish(),
            RequestedImage::Compose { id } => f.debug_struct("Compose").field("id", id).finish(),
            RequestedImage::Build { .. } => f.debug_struct("Build").finish_non_exhaustive(),
        }
    }
}

/// The text for the first start may hold secrets, so that `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestedParameters {
    #[serde(flatten)]
    pub plain: LaunchParameters,
    /// Text for the first start of every instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only)]
    pub user_data: Option<String>,
}

/// The clouds by name.
pub(crate) fn provider_schema() -> utoipa::openapi::schema::Object {
    let names = ProviderKind::ALL.map(ProviderKind::as_str);
    let builder = ObjectBuilder::new().schema_type(Type::String).description(Some("The cloud."));
    builder.enum_values(Some(names)).build()
}

/// What is saved once, when the launch is accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Params {
    pub launch: Uuid,
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The identity header of the caller: the Image Builder decides by it what the caller may have. It names people, so
    /// that it is sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Sealed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder_org: Option<String>,
    pub provider: ProviderKind,
    pub image: ImageChoice,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
    pub profile: Profile,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ImageChoice {
    None,
    Cloud { id: String },
    Compose { id: Uuid },
    Build(Build),
}

impl ImageChoice {
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            ImageChoice::None | ImageChoice::Compose { .. } => None,
            ImageChoice::Cloud { id } => Some(id),
            ImageChoice::Build(build) => build.image_name.as_deref().or(build.distribution.as_deref()),
        }
    }
}

/// An image that is built for this launch. What people may read of the request is beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Build {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_name: Option<String>,
    pub architecture: Architecture,
    pub image_type: String,
    #[serde(default)]
    pub share_with_accounts: Vec<String>,
    #[serde(default)]
    pub share_with_sources: Vec<String>,
    /// The whole request as JSON: it may hold passwords and activation keys.
    pub request: Sealed,
}

/// How and where to launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Parameters {
    #[serde(flatten)]
    pub plain: LaunchParameters,
    /// Text for the first start of every instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<Sealed>,
}

impl fmt::Debug for RequestedParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedParameters").field("plain", &self.plain).finish_non_exhaustive()
    }
}

impl RequestedParameters {
    pub fn sealed(self, sealer: &Sealer) -> Parameters {
        let user_data = self.user_data.map(|text| sealer.seal(&SecretString::from(text)));
        Parameters { plain: self.plain, user_data }
    }
}

impl Parameters {
    /// As they were asked for. `None` when the text for the first start does not open.
    pub fn opened(&self, sealer: &Sealer) -> Option<RequestedParameters> {
        let text = self.user_data.as_ref().map(|sealed| sealer.open(sealed)).transpose().ok()?;
        let user_data = text.map(|text| text.expose_secret().to_owned());
        Some(RequestedParameters { plain: self.plain.clone(), user_data })
    }
}

impl std::ops::Deref for Parameters {
    type Target = LaunchParameters;

    fn deref(&self) -> &LaunchParameters {
        &self.plain
    }
}

/// Parameters that came later than the request are a record of their own, until the launch has read them.
impl Resource for Parameters {
    const KIND: &'static str = "launch_parameters";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
