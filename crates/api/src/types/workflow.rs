//! A workflow and its table of steps on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{WireTime, WorkflowFileError, WorkflowSource};

/// A kind of operation, with its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workflow {
    #[schema(example = "demo.hello")]
    pub workflow: String,
    /// Of a workflow that was declared; one of the program has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    #[serde(default)]
    pub source: WorkflowSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<WireTime>,
    pub about: String,
    /// `unwind` takes back what was made when a step fails, `leave` leaves it.
    #[schema(example = "unwind")]
    pub on_failure: String,
    /// How long an operation may take from its creation until it is given up.
    pub deadline_seconds: u64,
    /// It serves other operations; `housekeeping=hide` leaves it out of lists.
    #[serde(default)]
    pub housekeeping: bool,
    /// In the order in which they run.
    pub steps: Vec<WorkflowStep>,
    /// JSON Schema of the params, for forms, completion and checks.
    #[serde(default)]
    pub params: Value,
}

/// One line of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowStep {
    pub weight: u16,
    pub name: String,
    pub title: String,
    /// `pure` touches nothing outside, `keyed` is safe to run again, `once` is not.
    #[schema(example = "keyed")]
    pub effect: String,
    /// The outside system whose concurrency limit it counts against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// It runs only for some operations.
    pub conditional: bool,
    /// Where it would fail it is skipped, and tried again later.
    pub clean_up: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowList {
    pub items: Vec<Workflow>,
    /// Files in the folder of workflows that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_errors: Vec<WorkflowFileError>,
}

/// How the steps of a workflow were called by one process since it started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowCalls {
    #[schema(example = "demo.hello")]
    pub workflow: String,
    /// In the order in which they run.
    pub steps: Vec<StepCalls>,
}

/// The calls of one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepCalls {
    pub step: String,
    /// How many ended as `done`, `skipped`, `waited`, `retried` or `failed`; what never happened is left out.
    pub results: BTreeMap<String, u64>,
    /// How long all of them took together.
    pub seconds: f64,
    /// Half of the calls took no longer. Exact to a fifth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_seconds: Option<f64>,
    /// 99 of 100 calls took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_seconds: Option<f64>,
    pub health: StepHealth,
}

/// What the calls of a step say about what it works with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepHealth {
    /// It was not called yet.
    #[default]
    Unknown,
    /// Every call ended well.
    Good,
    /// Some failed or had to be tried again.
    Mixed,
    /// All of them did.
    Bad,
}
