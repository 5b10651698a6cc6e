//! A launch as it is asked for and as it is shown. Handlers, the description of the API, the command line and the
//! forms of the console use these types and no others; a launch is saved with its [`LaunchParameters`].

use std::fmt;

use cloud::ProviderKind;
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::wire::{Metadata, NewPublicKey};
use crate::model::profile::{AfterPivot, Detach, ImageSource, OnLaunchFailure, Partial, Surface};

/// What to launch, how, and where.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLaunch {
    /// `aws`, `azure`, `gcp` or `noop`.
    pub provider: String,
    #[serde(default)]
    pub image: NewImage,
    /// Without them the launch waits for them.
    #[serde(default)]
    pub parameters: Option<NewParameters>,
    /// `images`, `wizard`, `inventory` or `events`; without it the one that is configured.
    #[serde(default)]
    pub profile: Option<String>,
    /// Single points of the profile.
    #[serde(default)]
    pub options: Option<ProfileOptions>,
}

/// One of these; none where a launch template names the image.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewImage {
    /// An image of the cloud.
    #[schema(example = "ami-0abc000000000001")]
    pub id: Option<String>,
    /// An image of the Image Builder, which may still be building.
    pub compose_id: Option<String>,
    /// A request to the Image Builder, as it takes it.
    #[schema(value_type = Option<Object>)]
    pub build: Option<Value>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewParameters {
    pub source_id: String,
    pub region: Option<String>,
    #[schema(example = "t3.small")]
    pub instance_type: Option<String>,
    pub launch_template_id: Option<String>,
    /// One without it.
    pub amount: Option<i64>,
    pub name: Option<String>,
    /// A public key that is kept here.
    pub pubkey_id: Option<i64>,
    /// A public key that is to be kept here, if it is not yet.
    pub pubkey: Option<NewPublicKey>,
    pub poweroff: bool,
    /// Text for the first start of every instance. It is encrypted and never shown.
    pub user_data: Option<String>,
    pub subnet: Option<String>,
    pub security_groups: Vec<String>,
    /// Where everything is made at Azure. Without it: a group that is made for the launch and goes with it.
    pub resource_group: Option<String>,
}

/// The text for the first start may hold secrets.
impl fmt::Debug for NewParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewParameters")
            .field("source_id", &self.source_id)
            .field("region", &self.region)
            .field("instance_type", &self.instance_type)
            .field("launch_template_id", &self.launch_template_id)
            .field("amount", &self.amount)
            .field("pubkey_id", &self.pubkey_id)
            .finish_non_exhaustive()
    }
}

/// Where and how a launch is made, as it is saved and shown: without the text for the first start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaunchParameters {
    pub source_id: String,
    pub region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_template_id: Option<String>,
    pub amount: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyChoice>,
    #[serde(default)]
    pub poweroff: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<String>,
}

impl LaunchParameters {
    /// The values of a parameter, as text. None where it says nothing.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Object(key) => Some(key.get("name")?.as_str()?.to_owned()),
            other => Some(other.to_string()),
        };
        let all = serde_json::to_value(self).unwrap_or_default();
        let values = match all.get(name) {
            Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
            one => one.and_then(text).into_iter().collect::<Vec<_>>(),
        };
        values.into_iter().filter(|value| !value.is_empty()).collect()
    }
}

/// A public key that was chosen for a launch. It stays as it was, whatever becomes of the kept one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyChoice {
    pub pubkey_id: i64,
    pub name: String,
    /// As it was typed, with or without its comment.
    #[serde(default)]
    pub line: String,
}

impl NewParameters {
    /// What is left out is filled in. An amount that cannot be one is 0, which no check lets through.
    pub(crate) fn filled(&self, provider: ProviderKind, key: Option<KeyChoice>) -> LaunchParameters {
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        LaunchParameters {
            source_id: self.source_id.trim().to_owned(),
            region: given(&self.region).unwrap_or_else(|| provider.spec().home.to_owned()),
            instance_type: given(&self.instance_type),
            launch_template_id: given(&self.launch_template_id),
            amount: u32::try_from(self.amount.unwrap_or(1)).unwrap_or(0),
            name: given(&self.name),
            key,
            poweroff: self.poweroff,
            subnet: given(&self.subnet),
            security_groups: self.security_groups.clone(),
            resource_group: given(&self.resource_group),
        }
    }
}

/// Single points of a profile.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileOptions {
    /// `poll`, `callback` or `event`.
    #[schema(value_type = Option<String>)]
    pub image_source: Option<ImageSource>,
    pub fallback_poll_s: Option<u32>,
    pub image_deadline_s: Option<u32>,
    pub parameters_ttl_s: Option<u32>,
    /// Some of `images`, `wizard` and `inventory`.
    #[schema(value_type = Option<Vec<String>>)]
    pub surface: Option<Vec<Surface>>,
    /// `continue` or `cancel`.
    #[schema(value_type = Option<String>)]
    pub detach: Option<Detach>,
    /// `keep_image` or `hide_compose`.
    #[schema(value_type = Option<String>)]
    pub on_launch_failure: Option<OnLaunchFailure>,
    /// `all_or_nothing` or `keep`.
    #[schema(value_type = Option<String>)]
    pub partial: Option<Partial>,
    /// `forward` or `rollback`.
    #[schema(value_type = Option<String>)]
    pub after_pivot: Option<AfterPivot>,
}

/// A page of launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LaunchList {
    pub data: Vec<Launch>,
    pub metadata: Metadata,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Launch {
    pub id: Uuid,
    /// The number that `/reservations` knows it by.
    pub reservation_id: i64,
    /// The operation that carries it out, for `/operations`.
    pub operation_id: Option<String>,
    pub provider: String,
    /// Such as `building`, `launching`, `succeeded`, `succeeded_with_warnings` or `failed_dirty`.
    pub state: String,
    pub is_over: bool,
    /// What it waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>)]
    pub finished_at: Option<Timestamp>,
    pub image: LaunchImage,
    pub profile: LaunchProfile,
    /// Without the text for the first start.
    pub parameters: Option<LaunchParameters>,
    pub steps: Vec<Step>,
    /// How far the build is.
    pub build: Option<LaunchBuild>,
    pub instances: Vec<Instance>,
    pub warnings: Vec<String>,
    /// What could not be taken back.
    pub leftovers: Vec<Leftover>,
    /// What went wrong.
    pub error: Option<LaunchError>,
}

/// What is launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LaunchImage {
    /// The one that the launch template names.
    None,
    /// An image of the cloud.
    Cloud { id: String },
    /// An image of the Image Builder.
    Compose { id: Uuid },
    /// One that is built for this launch.
    Build {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        distribution: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_name: Option<String>,
        architecture: String,
        image_type: String,
    },
}

/// How the launch behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaunchProfile {
    #[schema(value_type = String)]
    pub image_source: ImageSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_poll_s: Option<u32>,
    pub image_deadline_s: u32,
    pub parameters_ttl_s: u32,
    #[schema(value_type = Vec<String>)]
    pub surface: Vec<Surface>,
    #[schema(value_type = String)]
    pub detach: Detach,
    #[schema(value_type = String)]
    pub on_launch_failure: OnLaunchFailure,
    #[schema(value_type = String)]
    pub partial: Partial,
    #[schema(value_type = String)]
    pub after_pivot: AfterPivot,
}

/// A build for a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaunchBuild {
    pub compose: Uuid,
    /// The word of the Image Builder.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

/// Something that could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leftover {
    /// `instance`, `key_pair`, `compose`, or a part such as `nic`, `public_ip`, `disk`, `nsg`, `network` or `group`.
    pub kind: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Why it is still there, and what to do.
    pub note: String,
}

/// What went wrong with a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct LaunchError {
    #[schema(required)]
    pub step: String,
    /// Such as `capacity`, `permission` or `validation`.
    #[schema(required)]
    pub category: String,
    #[schema(required)]
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The cloud's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_code: Option<String>,
    /// The same launch may succeed later.
    pub retryable: bool,
    /// How often in a row it went wrong, where the step counts that itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    pub index: usize,
    pub name: String,
    pub title: String,
    /// Such as `pending`, `running`, `waiting`, `retrying`, `succeeded`, `failed` or `compensated`.
    pub state: String,
    /// How often it was tried again since it last got on.
    pub attempt: u32,
    #[schema(value_type = Option<String>)]
    pub next_attempt_at: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    pub finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Value>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    pub done: u32,
    pub total: u32,
}

/// One instance, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instance {
    pub instance_id: String,
    pub state: String,
    pub detail: InstanceDetail,
}

/// The addresses that it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceDetail {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_dns: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ipv6: Option<String>,
}
