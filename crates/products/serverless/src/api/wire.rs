//! What devices send and get. Members that are unknown are taken along, as the engine whose place this takes
//! does it.

pub use api::CognitBody as Error;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A runtime under its one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Envelope {
    #[serde(rename = "SERVERLESS_RUNTIME")]
    #[schema(rename = "SERVERLESS_RUNTIME")]
    pub serverless_runtime: ServerlessRuntime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct ServerlessRuntime {
    /// Made up if it is left out.
    #[schema(max_length = 128)]
    pub name: Option<String>,
    /// Not looked at in a request.
    pub id: Option<i32>,
    pub faas: Function,
    /// Without it, or with an empty flavour in it, there is none.
    pub daas: Option<Function>,
    pub scheduling: Option<Scheduling>,
    pub device_info: Option<DeviceInfo>,
    /// Not looked at in a request.
    pub service_id: Option<i32>,
}

/// A VM that runs functions, or that keeps data for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Function {
    /// May be empty in an update.
    #[schema(example = "Function")]
    pub flavour: String,
    /// Logical cores.
    #[schema(minimum = 1)]
    pub cpu: Option<u32>,
    /// Megabytes.
    #[schema(minimum = 1)]
    pub memory: Option<u32>,
    /// Megabytes. It can only grow.
    #[schema(minimum = 1)]
    pub disk_size: Option<u32>,
    /// Not looked at in a request.
    pub vm_id: Option<i32>,
    /// Not looked at in a request.
    pub state: Option<State>,
    /// The address, without a scheme and without a port. Not looked at in a request.
    pub endpoint: Option<String>,
    /// Why the state is `ERROR`, or what a VM waits for whose state is `PENDING`. Not looked at in a request.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schema(as = State)]
pub enum State {
    Pending,
    Running,
    Updating,
    Error,
}

impl State {
    pub const ALL: [&'static str; 4] = ["PENDING", "RUNNING", "UPDATING", "ERROR"];
}

/// Where a runtime should be. It is echoed as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Scheduling {
    /// Becomes `SCHED_RANK`.
    pub policy: Option<String>,
    /// Becomes `SCHED_REQUIREMENTS`.
    pub requirements: Option<String>,
}

/// What is known about the device. It is echoed as it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct DeviceInfo {
    /// Seconds.
    pub latency_to_pe: Option<f64>,
    pub geographic_location: Option<String>,
}

/// A page of runtimes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Listing {
    pub serverless_runtimes: Vec<ServerlessRuntime>,
    /// Where the next page begins, if there may be one. A page may be shorter than its limit and not be the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// Flavours by the role that they are for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct FlavourList {
    pub faas: Vec<String>,
    pub daas: Vec<String>,
}

/// An operation under its one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeProgress {
    #[serde(rename = "OPERATION")]
    #[schema(rename = "OPERATION")]
    pub operation: RuntimeOperation,
}

/// What became of a request that did not wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = ServerlessOperation, rename_all = "SCREAMING_SNAKE_CASE")]
pub struct RuntimeOperation {
    pub id: Uuid,
    pub action: Action,
    pub state: OperationState,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The status of the answer that the request would have got, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 201)]
    pub status: Option<u16>,
    /// The path of the runtime, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The error that the request would have got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "REFUSAL")]
    pub runtime_error: Option<Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ServerlessAction)]
pub enum Action {
    Create,
    Update,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schema(as = ServerlessOperationState)]
pub enum OperationState {
    Running,
    Succeeded,
    /// What it made was taken back, unless it was a delete.
    Failed,
}
