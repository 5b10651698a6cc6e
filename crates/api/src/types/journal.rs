//! The journal of an operation on the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{Phase, WireTime};

/// One thing that happened to an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalEntry {
    /// Counts up from 1 without a gap.
    pub seq: u32,
    pub at: WireTime,
    #[schema(example = "waited")]
    pub kind: String,
    /// The step that this is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// One sentence for people.
    pub text: String,
    /// Everything the engine wrote down, with secrets masked. Its members depend on the kind.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// One page of a journal, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    pub items: Vec<JournalEntry>,
    /// Where there is more: the value of `after` that brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// Which part of a journal is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct JournalQuery {
    /// Only events with a number above this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// 1 to 500; 100 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u16>,
}

/// The last event of a stream: the operation is finished and everything was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct End {
    pub phase: Phase,
}
