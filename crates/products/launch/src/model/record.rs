//! The record of a launch: what lists show, what others look for, and the notice that is still to be sent.

use cloud::{Architecture, CloudInstance, ProviderKind};
use engine::Timestamp;
use engine::prelude::*;
use uuid::Uuid;

use super::params::{ImageChoice, LaunchOwner, LaunchParameters, Params};
use super::profile::{Profile, Surface};
use super::state::{State, Tracked};
use super::status::LaunchPhase;

/// The label of launches that are under way, with their organisation: what one of them has is counted without a look at
/// those of all others.
pub(crate) const ACTIVE_OF: &str = "active_of";
/// The label of a launch for each instance that it made.
pub(crate) const INSTANCE: &str = "instance";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchRecord {
    pub launch: Uuid,
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The organisation at the Image Builder, where it has another name than here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder_org: Option<String>,
    pub provider: ProviderKind,
    pub image: ImageSummary,
    pub profile: Profile,
    /// The parameters were to come later than the request.
    pub is_deferred: bool,
    /// As far as they are known, without the text for the first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<LaunchParameters>,
    pub stage: LaunchPhase,
    /// What the steps learned; its own parameters are left out.
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// What others have not been told yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

/// The image as it was asked for, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ImageSummary {
    None,
    Cloud {
        id: String,
    },
    Compose {
        id: Uuid,
    },
    Build {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        distribution: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_name: Option<String>,
        architecture: Architecture,
        image_type: String,
    },
}

/// Word of how a launch ended, until it is handed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The same however often it is sent.
    pub id: Uuid,
    pub event: NoticeEvent,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeEvent {
    LaunchSuccess,
    LaunchFailed,
    LaunchCancelled,
    /// It failed, and something of it is still there.
    LaunchDirty,
}

impl NoticeEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            NoticeEvent::LaunchSuccess => "launch-success",
            NoticeEvent::LaunchFailed => "launch-failed",
            NoticeEvent::LaunchCancelled => "launch-cancelled",
            NoticeEvent::LaunchDirty => "launch-dirty",
        }
    }
}

impl LaunchRecord {
    /// As it is from the moment on that the launch is accepted.
    pub fn accepted(params: &Params) -> LaunchRecord {
        LaunchRecord { stage: LaunchPhase::Accepted, ..LaunchRecord::of(params, &State::default()) }
    }

    /// As it is while the launch is under way.
    pub(crate) fn of(params: &Params, state: &State) -> LaunchRecord {
        let parameters = state.parameters.as_ref().or(params.parameters.as_ref());
        LaunchRecord {
            launch: params.launch,
            owner: params.owner.clone(),
            builder_org: params.builder_org.clone(),
            provider: params.provider,
            image: ImageSummary::of(&params.image),
            profile: params.profile.clone(),
            is_deferred: params.is_deferred(),
            parameters: parameters.map(|parameters| parameters.plain.clone()),
            stage: LaunchPhase::of(params.shape(), state),
            state: State { parameters: None, ..state.clone() },
            finished_at: None,
            notices: Vec::new(),
        }
    }

    /// The name of the resource that a launch works on.
    pub fn resource(launch: Uuid) -> String {
        format!("launch:{}", launch.simple())
    }

    /// Where parameters are kept that come later than the request, and the key of the signal that says so.
    pub fn parameters_of(launch: Uuid) -> String {
        format!("launch:{}:parameters", launch.simple())
    }

    /// The key of the signal that the image may be ready.
    pub fn image_of(launch: Uuid) -> String {
        format!("launch:{}:image", launch.simple())
    }

    /// One of its instances is gone since the launch ended. `false` when the record says so already.
    pub(crate) fn lost(&mut self, gone: &CloudInstance, at: Timestamp) -> bool {
        let all = &mut self.state.instances;
        let Some(tracked) = all.iter_mut().find(|tracked| tracked.instance.id == gone.id) else {
            return false;
        };
        if tracked.instance == *gone {
            return false;
        }
        *tracked = Tracked { instance: gone.clone(), seen_at: at };
        // Nothing of a launch that is over can use the key, but for instances.
        if !self.state.has_instances() {
            self.state.key_claim = None;
        }
        true
    }

    pub fn compose(&self) -> Option<Uuid> {
        match (&self.state.build, &self.image) {
            (Some(build), _) => Some(build.compose),
            (None, ImageSummary::Compose { id }) => Some(*id),
            _ => None,
        }
    }
}

impl ImageSummary {
    fn of(image: &ImageChoice) -> ImageSummary {
        match image {
            ImageChoice::None => ImageSummary::None,
            ImageChoice::Cloud { id } => ImageSummary::Cloud { id: id.clone() },
            ImageChoice::Compose { id } => ImageSummary::Compose { id: *id },
            ImageChoice::Build(build) => ImageSummary::Build {
                distribution: build.distribution.clone(),
                image_name: build.image_name.clone(),
                architecture: build.architecture,
                image_type: build.image_type.clone(),
            },
        }
    }
}

impl Resource for LaunchRecord {
    const KIND: &'static str = "launch";

    fn labels(&self) -> Vec<(&'static str, String)> {
        let mut labels =
            vec![("provider", self.provider.as_str().to_owned()), ("state", self.stage.label().to_owned())];
        if !self.stage.is_over() {
            labels.push((ACTIVE_OF, self.owner.tenant()));
        }
        for (surface, label) in [
            (Surface::Images, "on_images"),
            (Surface::Wizard, "on_wizard"),
            (Surface::Inventory, "on_inventory"),
        ] {
            if self.profile.shows_on(surface) {
                labels.push((label, "yes".to_owned()));
            }
        }
        if let Some(compose) = self.compose() {
            labels.push(("compose", compose.to_string()));
        }
        if let Some(key) = self.parameters.as_ref().and_then(|parameters| parameters.key.as_ref()) {
            labels.push(("pubkey", key.pubkey_id.to_string()));
        }
        if let Some(claim) = &self.state.key_claim {
            labels.push(("key", claim.clone()));
        }
        if !self.state.instances.is_empty() {
            labels.push(("instances", "yes".to_owned()));
        }
        labels.extend(self.state.instances.iter().map(|tracked| (INSTANCE, tracked.instance.id.clone())));
        labels
    }

    fn due_at(&self) -> Option<Timestamp> {
        self.notices.iter().map(|notice| notice.at).min()
    }
}
