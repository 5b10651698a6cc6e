//! Declared workflows on the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{WireTime, Workflow};

/// Where a workflow comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowSource {
    /// It is a part of the program.
    #[default]
    BuiltIn,
    /// It was put through this API.
    Api,
    /// It is read from a file of this name in the folder of workflows.
    File(String),
}

/// What is wrong with a file in the folder of workflows. The version before it stays in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowFileError {
    pub file: String,
    /// Counted from one; missing where the error has no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    pub message: String,
    pub at: WireTime,
}

/// A declaration that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppliedWorkflow {
    #[schema(example = "acme.database")]
    pub workflow: String,
    /// What new operations begin with.
    pub version: u32,
    /// The same content again is no new version.
    pub is_new: bool,
}

/// The versions of a declared workflow that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowVersionList {
    pub workflow: String,
    /// The newest first.
    pub items: Vec<WorkflowVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowVersion {
    pub version: u32,
    /// SHA-256 of the content without the secret.
    pub digest: String,
    pub by: String,
    pub at: WireTime,
    /// Since when new operations begin with another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<WireTime>,
    pub is_current: bool,
}

/// One version with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkflowContent {
    #[serde(flatten)]
    pub version: WorkflowVersion,
    /// The declaration as it was written, in YAML or JSON; a secret in it is left out.
    pub content: String,
    pub plan: Workflow,
}

/// What a dry run is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DryRun {
    #[serde(default)]
    pub params: Value,
    #[serde(default = "super::Submit::default_tenant")]
    pub tenant: String,
}

/// The calls that an operation would make. None was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRunCalls {
    pub workflow: String,
    pub calls: Vec<DryRunCall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DryRunCall {
    pub weight: u16,
    pub step: String,
    pub title: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// The step whose facts decide whether this call is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<String>,
}
