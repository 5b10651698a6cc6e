//! The four ways to build and launch, as settings of one saga.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who proves that the image is ready. Whatever it is, it is only a hint: one read at the Image Builder decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// The engine looks.
    Poll,
    /// The side of the Image Builder calls back.
    Callback,
    /// A message arrives.
    Event,
}

/// Where the status of a launch is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    Images,
    Wizard,
    Inventory,
}

/// What it means that the window is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detach {
    Continue,
    Cancel,
}

/// What becomes of an image that was built for a launch that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLaunchFailure {
    KeepImage,
    HideCompose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Partial {
    AllOrNothing,
    /// Fewer instances than asked for are better than none.
    Keep,
}

/// What happens to instances that run when a later step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterPivot {
    Forward,
    Rollback,
}

/// How one launch behaves. Times are in seconds, because this is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub image_source: ImageSource,
    /// How often to poll although an event is expected; `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_poll_s: Option<u32>,
    /// How long a build may take.
    pub image_deadline_s: u32,
    /// How long to wait for parameters that did not come with the request.
    pub parameters_ttl_s: u32,
    pub surface: Vec<Surface>,
    pub detach: Detach,
    pub on_launch_failure: OnLaunchFailure,
    pub partial: Partial,
    pub after_pivot: AfterPivot,
}

/// The names of the four options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileName {
    /// The side of the Image Builder says when the image is ready; the list of images shows the launch.
    Images,
    /// The build is the first step of the wizard.
    Wizard,
    /// The engine looks; the inventory shows the launch.
    Inventory,
    /// A message says when the image is ready; the inventory shows the launch.
    Events,
}

impl ProfileName {
    pub const ALL: [ProfileName; 4] =
        [ProfileName::Images, ProfileName::Wizard, ProfileName::Inventory, ProfileName::Events];

    pub fn as_str(self) -> &'static str {
        match self {
            ProfileName::Images => "images",
            ProfileName::Wizard => "wizard",
            ProfileName::Inventory => "inventory",
            ProfileName::Events => "events",
        }
    }

    /// The settings that make this option.
    pub fn profile(self) -> Profile {
        let (image_source, fallback_poll_s, surface) = match self {
            ProfileName::Images => (ImageSource::Callback, None, Surface::Images),
            ProfileName::Wizard => (ImageSource::Poll, None, Surface::Wizard),
            ProfileName::Inventory => (ImageSource::Poll, None, Surface::Inventory),
            ProfileName::Events => (ImageSource::Event, Some(60), Surface::Inventory),
        };
        Profile {
            image_source,
            fallback_poll_s,
            image_deadline_s: 2 * 3600,
            parameters_ttl_s: 24 * 3600,
            surface: vec![surface],
            detach: Detach::Continue,
            on_launch_failure: OnLaunchFailure::KeepImage,
            partial: Partial::AllOrNothing,
            after_pivot: AfterPivot::Forward,
        }
    }
}

impl Profile {
    pub fn image_deadline(&self) -> Duration {
        Duration::from_secs(self.image_deadline_s.into())
    }

    pub fn parameters_ttl(&self) -> Duration {
        Duration::from_secs(self.parameters_ttl_s.into())
    }

    pub fn fallback_poll(&self) -> Option<Duration> {
        self.fallback_poll_s.map(|seconds| Duration::from_secs(seconds.into()))
    }

    pub fn shows_on(&self, surface: Surface) -> bool {
        self.surface.contains(&surface)
    }
}
