//! A refusal, as RFC 9457 writes it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where this kind of problem is explained.
    #[serde(rename = "type")]
    #[schema(example = "/errors/operation-not-found")]
    pub kind: String,
    /// The same for every problem of this kind.
    pub title: String,
    pub status: u16,
    /// What went wrong this time, and what to do about it.
    pub detail: String,
    /// Stable: the name by which programs tell problems apart.
    #[schema(example = "operation-not-found")]
    pub code: String,
    /// The request id, as it is in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// More for programs, such as `parameter`, `field`, `line`, `column`, `phase`, `possible` or `operation`.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = std::collections::BTreeMap<String, Value>)]
    pub fields: serde_json::Map<String, Value>,
}
