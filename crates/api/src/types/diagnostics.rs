//! Wire types of diagnostics: settings, external systems, keys.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::WireTime;

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Setting {
    #[schema(example = "server.listen")]
    pub path: String,
    /// Masked where it is secret.
    #[schema(value_type = Value)]
    pub value: Value,
    /// Where it comes from: a file, the environment, a flag, or the default.
    pub origin: String,
    /// The variable of the environment that would set it.
    pub variable: String,
    /// What it does.
    pub about: String,
}

/// By path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingList {
    pub items: Vec<Setting>,
}

/// A system outside, as it was a moment ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct System {
    #[schema(example = "Image Builder")]
    pub name: String,
    /// Without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    pub state: SystemState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub checked_at: WireTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemState {
    Ok,
    Failing,
    /// It has no address in the settings, so it is not used.
    NotConfigured,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SystemList {
    pub items: Vec<System>,
}

/// A key that opens what it sealed. The key itself is nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Key {
    #[schema(example = "k2-0a1b2c3d")]
    pub id: String,
    /// Whether it is the one that seals.
    pub active: bool,
    /// Whether the servers seal again with the active key what it sealed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub retiring: bool,
    /// When it began to seal, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<WireTime>,
    /// How many saved values only this key opens; only with `sealed=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<SealedValues>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Values that one key sealed, by the place where they are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SealedValues {
    /// In unfinished operations.
    pub operations: usize,
    /// In the records of resources.
    pub records: usize,
    /// In the history of operations.
    pub history: usize,
}

impl SealedValues {
    pub fn total(self) -> usize {
        self.operations + self.records + self.history
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyList {
    pub items: Vec<Key>,
    /// When the ring was last changed, as far as its file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<WireTime>,
}
