//! Why an operation is not finished, on the wire.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Phase, WireTime};

/// Why an operation is not finished, or how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    pub id: Uuid,
    pub workflow: String,
    pub phase: Phase,
    /// The step that holds it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_step: Option<String>,
    /// What that step does, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One sentence that says why it stands where it stands.
    pub reason: String,
    /// The last thing that went wrong, word for word. It may have healed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// How many attempts of the blocking step failed since it last got on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<WireTime>,
    /// A signal with this key ends the wait at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for_key: Option<String>,
    /// The operation that has the resource which this one queues for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_behind: Option<Uuid>,
    /// The node that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Uuid>,
    /// When the engine gives up by itself and fails the operation.
    pub deadline_at: WireTime,
    /// Steps whose work may still be in the world although the operation goes back or has ended.
    pub left_over: Vec<String>,
    /// Sentences with commands.
    pub what_you_can_do: Vec<String>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastError {
    pub step: String,
    pub cause: String,
    pub at: WireTime,
}
