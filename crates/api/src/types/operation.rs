//! An operation on the wire: what is asked, what is listed, what is shown.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{LastError, WireTime};

/// Where an operation is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Accepted; no step has run yet.
    Pending,
    /// A node is working on it.
    Running,
    /// A step waits for the world or for its next try.
    Waiting,
    /// What it left in the world is being taken back.
    Undoing,
    /// An operator holds it.
    Paused,
    /// It cannot go on without a person.
    Stuck,
    Succeeded,
    /// It failed, and the plan leaves what it made.
    Failed,
    /// It failed, and everything it made was taken back.
    Undone,
    /// A client cancelled it.
    Cancelled,
}

impl Phase {
    pub fn is_final(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Undone | Phase::Cancelled)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "pending",
            Phase::Running => "running",
            Phase::Waiting => "waiting",
            Phase::Undoing => "undoing",
            Phase::Paused => "paused",
            Phase::Stuck => "stuck",
            Phase::Succeeded => "succeeded",
            Phase::Failed => "failed",
            Phase::Undone => "undone",
            Phase::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What an operation can be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Cancel,
    Pause,
    Resume,
    Retry,
}

/// An operation to be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    #[schema(example = "demo.hello")]
    pub workflow: String,
    /// What the operation works on. Only one operation at a time works on a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// A name for people, in at most 200 characters, which lists show and search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Work is shared fairly between tenants.
    #[serde(default = "Submit::default_tenant")]
    #[schema(default = "default")]
    pub tenant: String,
    /// What the workflow wants to know; see its guide.
    #[serde(default = "Submit::default_params")]
    #[schema(value_type = Object)]
    pub params: Value,
    /// Wait for a busy resource instead of being refused.
    #[serde(default)]
    pub queue: bool,
}

impl Submit {
    pub fn default_tenant() -> String {
        "default".into()
    }

    pub fn default_params() -> Value {
        Value::Object(serde_json::Map::new())
    }
}

/// Why an operation is asked for something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Goes into the journal, at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an operation was asked and has not heard yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingRequest {
    pub verb: Verb,
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub at: WireTime,
}

/// One durable run of a workflow, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    pub id: Uuid,
    pub workflow: String,
    /// The name for people, such as that of a launch or of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "web-events")]
    pub name: Option<String>,
    pub tenant: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    pub phase: Phase,
    /// The step at which it stands, where it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Why it stands there, or how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<WireTime>,
    pub created_at: WireTime,
    pub deadline_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<WireTime>,
    /// The node that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<PendingRequest>,
    /// In lists: how far it has come, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// How many steps of the plan are behind an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    pub done: u32,
    pub steps: u32,
}

/// Everything about one operation except its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OperationDetail {
    #[serde(flatten)]
    pub operation: Operation,
    /// What was asked, with secrets masked.
    #[schema(value_type = Object)]
    pub params: Value,
    /// What its steps share, with secrets masked.
    #[schema(value_type = Object)]
    pub state: Value,
    /// What its steps remember, with secrets masked.
    #[schema(value_type = Object)]
    pub facts: BTreeMap<String, Value>,
    pub steps: Vec<Step>,
    /// Why it failed, goes back or is stuck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<WireTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// Steps whose work may still be in the world although the operation goes back or has ended.
    pub left_over: Vec<String>,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Done,
    /// It gave up or did not apply; the operation went on without it.
    Skipped,
    Running,
    Waiting,
    /// It failed in a way that may heal and is tried again.
    Retrying,
    Failed,
    Undone,
    /// Its undo failed, and an operator must decide.
    UndoFailed,
    /// Its turn may still come.
    Pending,
    /// Its turn never came, and it will not: the operation ended or goes back.
    NotRun,
}

impl StepState {
    /// The word for people: the command line and every page use this one.
    pub fn word(self) -> &'static str {
        match self {
            StepState::Done => "done",
            StepState::Skipped => "skipped",
            StepState::Running => "running",
            StepState::Waiting => "waiting",
            StepState::Retrying => "retrying",
            StepState::Failed => "failed",
            StepState::Undone => "undone",
            StepState::UndoFailed => "undo failed",
            StepState::Pending => "pending",
            StepState::NotRun => "not run",
        }
    }

    /// The operation went on behind it.
    pub fn is_passed(self) -> bool {
        matches!(self, StepState::Done | StepState::Skipped)
    }
}

/// One step of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// 0 where this release no longer has the step.
    pub weight: u16,
    pub name: String,
    pub title: String,
    pub state: StepState,
    /// How many attempts failed since the step last got on.
    pub attempt: u32,
    /// What it waits for, or what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}
