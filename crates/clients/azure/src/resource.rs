//! What all resources have: an id, tags and a provisioning state.

use std::collections::BTreeMap;

use cloud::LAUNCH_TAG;
use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ResourceHead {
    #[serde(default)]
    pub(super) tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) properties: ResourceProperties,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ResourceProperties {
    #[serde(rename = "provisioningState", default)]
    provisioning_state: String,
    #[serde(rename = "diskState", default)]
    disk_state: String,
}

impl ResourceHead {
    fn is_in(&self, state: &str) -> bool {
        self.properties.provisioning_state.eq_ignore_ascii_case(state)
    }

    /// A resource without a state, such as an old one, is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.is_in("Succeeded") || self.is_in("")
    }

    pub(super) fn has_failed(&self) -> bool {
        self.is_in("Failed") || self.is_in("Canceled")
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_in("Deleting")
    }

    pub(super) fn is_unattached(&self) -> bool {
        self.properties.disk_state.is_empty() || self.properties.disk_state.eq_ignore_ascii_case("Unattached")
    }

    pub(super) fn is_of(&self, launch_tag: &str) -> bool {
        is_tagged(self.tags.as_ref(), launch_tag)
    }

    /// Of this launch or of another one.
    pub(super) fn has_launch_tag(&self) -> bool {
        self.tags.iter().flatten().any(|(name, _)| name.eq_ignore_ascii_case(LAUNCH_TAG))
    }
}

/// Names of tags have no case, and their values do.
pub(super) fn is_tagged(tags: Option<&BTreeMap<String, String>>, launch_tag: &str) -> bool {
    tags.into_iter()
        .flatten()
        .any(|(name, value)| name.eq_ignore_ascii_case(LAUNCH_TAG) && value == launch_tag)
}
