//! What the steps of a launch learned.

use std::collections::BTreeSet;

use cloud::{Architecture, CloudInstance, CloudKey};
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::params::Parameters;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<BuildState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ResolvedImage>,
    /// Those that came later than the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
    /// What others look for before they delete a key pair: source, region and fingerprint of the key. It is here
    /// from before the key is looked up until nothing of this launch can use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyState>,
    /// The cloud's own name for the call that made the instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Tracked>,
    /// The tag of all that was made beside the instances, for those who terminate them later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_tag: Option<String>,
    /// Whether the inventory shows the instances.
    #[serde(default)]
    pub registered: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What could not be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<Leftover>,
    /// The parameters never came.
    #[serde(default)]
    pub abandoned: bool,
    /// What went wrong, sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<LaunchError>,
    /// The steps that have done their work, by name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub done: BTreeSet<String>,
    /// What was made is being taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "retreat")]
    pub undo_cause: Option<UndoCause>,
}

/// Why what was made is being taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoCause {
    Failure,
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildState {
    pub compose: Uuid,
    /// The word of the Image Builder.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedImage {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// What an instance type must support, where types differ in that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyState {
    pub key: CloudKey,
    /// This launch uploaded it.
    pub uploaded: bool,
}

/// One instance, as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracked {
    #[serde(flatten)]
    pub instance: CloudInstance,
    pub seen_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// `instance`, `key_pair`, `compose`, a kind of part such as `nic` or `group`, or `part` where none was seen.
    pub kind: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Why it is still there, and what to do.
    pub note: String,
}

/// What went wrong, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchError {
    pub step: String,
    /// Such as `capacity`, `permission` or `validation`.
    pub category: String,
    pub message: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The cloud's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_code: Option<String>,
    /// The same launch may succeed later.
    #[serde(default)]
    pub retryable: bool,
    /// How often in a row it went wrong, where the step counts that itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

impl State {
    pub(crate) fn has_done(&self, step: &str) -> bool {
        self.done.contains(step)
    }

    /// Says it once, however often a step says it.
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    pub(crate) fn leave_over(&mut self, leftover: Leftover) {
        self.leftovers.retain(|other| (&other.kind, &other.id) != (&leftover.kind, &leftover.id));
        self.leftovers.push(leftover);
    }

    /// What is left of this kind has been taken back after all.
    pub(crate) fn cleared(&mut self, kind: &str) {
        self.leftovers.retain(|leftover| leftover.kind != kind);
    }

    pub fn has_instances(&self) -> bool {
        self.instances.iter().any(|tracked| !tracked.instance.state.is_gone())
    }
}

impl Tracked {
    /// People can reach it.
    pub fn has_address(&self) -> bool {
        self.instance.public_ipv4.is_some() || self.instance.public_dns.is_some()
    }
}
