//! A launch as it is asked for and as it is shown.

use crate::model::form::ParametersForm;
use crate::model::profile::{
    AfterPivot, Detach, ImageSource, OnLaunchFailure, Partial, Profile, ProfileName, Surface,
};
use crate::model::pubkeys;
use crate::model::status::{StepView, View};
use engine::secret::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::super::principal::TenantPrincipal;
use super::super::rights::Verb;
use super::super::{Desk, wire};
use crate::api::error;
use server::http::Failure;

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
    pub pubkey: Option<wire::NewPubkey>,
    pub poweroff: bool,
    /// Text for the first start of every instance. It is sealed, and shown to nobody.
    pub user_data: Option<String>,
    pub subnet: Option<String>,
    pub security_groups: Vec<String>,
}

impl NewParameters {
    /// Keeps the key that came with them, if need be.
    pub(in crate::api) async fn form(
        self,
        desk: &Desk,
        principal: &TenantPrincipal,
    ) -> Result<ParametersForm, Failure> {
        let pubkey_id = match (self.pubkey_id, &self.pubkey) {
            (id, None) => id,
            (None, Some(new)) => {
                principal.must("pubkey", Verb::Write)?;
                let (engine, who) = (&desk.app.engine, &principal.requester);
                Some(pubkeys::keep(engine, who, &new.name, &new.body).await?.number)
            }
            (Some(_), Some(_)) => return Err(error::invalid("pubkey", "pubkey_id is given as well")),
        };
        Ok(ParametersForm {
            source_id: self.source_id,
            region: self.region,
            instance_type: self.instance_type,
            launch_template_id: self.launch_template_id,
            amount: self.amount,
            name: self.name,
            pubkey_id,
            poweroff: self.poweroff,
            subnet: self.subnet,
            security_groups: self.security_groups,
            user_data: self.user_data.map(SecretString::from),
        })
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

/// The profile that a request means. A named one keeps the times that are configured.
pub(crate) fn profile(
    name: Option<&str>,
    options: Option<ProfileOptions>,
    configured: &Profile,
) -> Result<Option<Profile>, Failure> {
    if name.is_none() && options.is_none() {
        return Ok(None);
    }
    let named = match name {
        None => configured.clone(),
        Some(name) => {
            let known = ProfileName::ALL.into_iter().find(|known| known.as_str() == name);
            let rule = "it must be one of images, wizard, inventory, events";
            let named = known.ok_or_else(|| error::invalid("profile", rule))?.profile();
            Profile {
                image_source: named.image_source,
                fallback_poll_s: named.fallback_poll_s,
                surface: named.surface,
                ..configured.clone()
            }
        }
    };
    let options = options.unwrap_or_default();
    Ok(Some(Profile {
        image_source: options.image_source.unwrap_or(named.image_source),
        fallback_poll_s: options.fallback_poll_s.or(named.fallback_poll_s),
        image_deadline_s: options.image_deadline_s.unwrap_or(named.image_deadline_s),
        parameters_ttl_s: options.parameters_ttl_s.unwrap_or(named.parameters_ttl_s),
        surface: options.surface.unwrap_or(named.surface),
        detach: options.detach.unwrap_or(named.detach),
        on_launch_failure: options.on_launch_failure.unwrap_or(named.on_launch_failure),
        partial: options.partial.unwrap_or(named.partial),
        after_pivot: options.after_pivot.unwrap_or(named.after_pivot),
    }))
}

/// A page of launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LaunchList {
    pub data: Vec<Launch>,
    pub metadata: wire::Metadata,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Launch {
    pub id: uuid::Uuid,
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
    pub created_at: String,
    pub finished_at: Option<String>,
    #[schema(value_type = Object)]
    pub image: Value,
    #[schema(value_type = Object)]
    pub profile: Value,
    /// Without the text for the first start.
    #[schema(value_type = Option<Object>)]
    pub parameters: Value,
    pub steps: Vec<Step>,
    /// How far the build is.
    #[schema(value_type = Option<Object>)]
    pub build: Value,
    pub instances: Vec<Instance>,
    pub warnings: Vec<String>,
    /// What could not be taken back.
    #[schema(value_type = Vec<Object>)]
    pub leftovers: Value,
    /// What went wrong.
    #[schema(value_type = Option<Object>)]
    pub error: Value,
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
    pub next_attempt_at: Option<String>,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
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

impl From<&crate::model::cloud::Instance> for Instance {
    fn from(instance: &crate::model::cloud::Instance) -> Instance {
        Instance {
            instance_id: instance.id.clone(),
            state: instance.state.as_str().to_owned(),
            detail: InstanceDetail {
                public_dns: instance.public_dns.clone(),
                public_ipv4: instance.public_ipv4.clone(),
                private_ipv4: instance.private_ipv4.clone(),
                private_ipv6: instance.private_ipv6.clone(),
            },
        }
    }
}

impl From<&View> for Launch {
    fn from(view: &View) -> Launch {
        let (record, state) = (&view.record, &view.record.state);
        Launch {
            id: record.launch,
            reservation_id: view.number,
            operation_id: view.operation.map(|operation| operation.to_string()),
            provider: record.provider.to_string(),
            state: view.stage.as_str().to_owned(),
            is_over: view.stage.is_over(),
            waits_for: view.waits_for.clone(),
            created_at: view.created_at.to_string(),
            finished_at: view.legacy.finished_at.map(|at| at.to_string()),
            image: json(&record.image),
            profile: json(&record.profile),
            parameters: json(&record.parameters),
            steps: view.steps.iter().map(Step::from).collect(),
            build: json(&state.build),
            instances: state.instances.iter().map(|tracked| Instance::from(&tracked.instance)).collect(),
            warnings: state.warnings.clone(),
            leftovers: json(&state.leftovers),
            error: json(&state.error),
        }
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

impl From<&StepView> for Step {
    fn from(step: &StepView) -> Step {
        let time = |at: Option<engine::Timestamp>| at.map(|at| at.to_string());
        Step {
            index: step.index,
            name: step.name.to_owned(),
            title: step.title.to_owned(),
            state: step.state.as_str().to_owned(),
            attempt: step.attempt,
            next_attempt_at: time(step.next_attempt_at),
            started_at: time(step.started_at),
            finished_at: time(step.finished_at),
            progress: step.progress.map(|(done, total)| Progress { done, total }),
            outputs: step.outputs.clone(),
            error: step.error.clone(),
        }
    }
}
