//! The JSON in the documents of OneFlow: service templates, and the services made of them.
//!
//! One set of types serves both: a service is its template, merged with what the caller sent, plus what became
//! of it. Members stand in the recorded order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::State;
use super::validate::validate;
use crate::opennebula::release::Release;

pub(super) const ROLES_MAX: usize = 16;
pub(super) const CARDINALITY_MAX: u32 = 32;
const LOG_LINES_MAX: usize = 50;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FlowBody {
    pub(super) name: String,
    pub(super) deployment: String,
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ready_status_gate: Option<bool>,
    pub(super) roles: Vec<FlowRole>,
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registration_time: Option<i64>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<State>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) start_time: Option<i64>,
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(super) log: Vec<LogLine>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FlowRole {
    /// Only 7.4 says that a role is made of machines.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    pub(super) name: String,
    pub(super) cardinality: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vm_template: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template_id: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parents: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vm_template_contents: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template_contents: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, Value>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<State>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) cooldown: Option<u32>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) nodes: Option<Vec<FlowNode>>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) on_hold: Option<bool>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) last_vmname: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct FlowNode {
    pub(super) deploy_id: i32,
    pub(super) vm_info: Value,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct LogLine {
    timestamp: i64,
    severity: &'static str,
    pub(super) message: String,
}

impl FlowBody {
    /// Says in OneFlow's words which key is missing or wrong.
    pub(super) fn parse(mut members: Map<String, Value>, release: Release) -> Result<FlowBody, String> {
        validate(&mut members, release)?;
        serde_json::from_value(Value::Object(members))
            .map_err(|error| format!("KEY: the template is invalid: {error};"))
    }

    pub(super) fn log(&mut self, severity: &'static str, timestamp: i64, message: impl Into<String>) {
        if self.log.len() >= LOG_LINES_MAX {
            self.log.remove(0);
        }
        self.log.push(LogLine { timestamp, severity, message: message.into() });
    }
}

impl FlowRole {
    /// The VM template, by the name of either release.
    pub(super) fn template(&self) -> i32 {
        self.vm_template.or(self.template_id).unwrap_or(-1)
    }

    pub(super) fn nodes(&self) -> &[FlowNode] {
        self.nodes.as_deref().unwrap_or_default()
    }

    pub(super) fn nodes_mut(&mut self) -> &mut Vec<FlowNode> {
        self.nodes.get_or_insert_default()
    }

    pub(super) fn is(&self, state: State) -> bool {
        self.state == Some(state)
    }
}
