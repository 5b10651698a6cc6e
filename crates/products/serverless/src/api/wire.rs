//! What devices send and get. Members that are unknown are taken along, as the engine whose place this takes
//! does it.

pub use api::CognitBody as Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// A runtime under its one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Envelope {
    #[serde(rename = "SERVERLESS_RUNTIME")]
    #[schema(rename = "SERVERLESS_RUNTIME")]
    pub serverless_runtime: ServerlessRuntime,
}

/// A function runtime, and a data runtime beside it if one is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct ServerlessRuntime {
    /// A name for people; made up if it is left out.
    #[schema(max_length = 128)]
    pub name: Option<String>,
    /// The id of the runtime; answered only.
    pub id: Option<i32>,
    /// The VM that runs functions.
    pub faas: Function,
    /// The VM that keeps data; none if this is left out or its flavour is empty.
    pub daas: Option<Function>,
    /// Where the VMs should run.
    pub scheduling: Option<Scheduling>,
    /// What is known about the device that asks.
    pub device_info: Option<DeviceInfo>,
    /// The id of its service in OneFlow; answered only.
    pub service_id: Option<i32>,
}

/// A VM that runs functions, or that keeps data for them. In an update its flavour may be empty. An endpoint has neither
/// a scheme nor a port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Function {
    /// What kind of VM it is; together with the other flavour it names the service template.
    #[schema(example = "Function")]
    pub flavour: String,
    /// Logical cores of the VM.
    #[schema(minimum = 1)]
    pub cpu: Option<u32>,
    /// Memory of the VM in MB.
    #[schema(minimum = 1)]
    pub memory: Option<u32>,
    /// Size of the first disk of the VM in MB; it can only grow.
    #[schema(minimum = 1)]
    pub disk_size: Option<u32>,
    /// The id of the VM; answered only.
    pub vm_id: Option<i32>,
    /// How the VM is; answered only.
    pub state: Option<State>,
    /// The address of the VM, empty without a network; answered only.
    pub endpoint: Option<String>,
    /// Why the state is ERROR, or what a VM waits for whose state is PENDING; answered only.
    pub error: Option<String>,
}

impl ServerlessRuntime {
    /// A member of one of its blocks as text, empty where it says nothing.
    pub(crate) fn text(&self, block: &str, member: &str) -> String {
        text(self, &format!("/{block}/{member}"))
    }
}

impl Function {
    /// A member as text, empty where it says nothing.
    pub(crate) fn text(&self, member: &str) -> String {
        text(self, &format!("/{member}"))
    }
}

fn text(of: &impl Serialize, path: &str) -> String {
    match serde_json::to_value(of).unwrap_or_default().pointer_mut(path).map(Value::take) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        // As people write it: 1 and not 1.0.
        Some(Value::Number(number)) => number.as_f64().unwrap_or_default().to_string(),
        Some(other) => other.to_string(),
    }
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

/// Where a runtime should be. It is echoed as it was sent; the policy becomes `SCHED_RANK`, the requirements become
/// `SCHED_REQUIREMENTS`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Scheduling {
    /// What the placement is judged by, such as energy or latency.
    pub policy: Option<String>,
    /// What a host must have to be considered.
    pub requirements: Option<String>,
}

/// What is known about the device. It is echoed as it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct DeviceInfo {
    /// Seconds from the device to this engine.
    pub latency_to_pe: Option<f64>,
    /// Where the device is.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_text_as_people_write_it() {
        let body = r#"{"FAAS": {"FLAVOUR": "F", "MEMORY": 768}, "DEVICE_INFO": {"LATENCY_TO_PE": 1}}"#;
        let runtime: ServerlessRuntime = serde_json::from_str(body).unwrap();
        assert_eq!(runtime.text("DEVICE_INFO", "LATENCY_TO_PE"), "1");
        assert_eq!([runtime.faas.text("MEMORY"), runtime.faas.text("CPU")], ["768", ""]);
        assert_eq!(runtime.text("SCHEDULING", "POLICY"), "");
    }
}
