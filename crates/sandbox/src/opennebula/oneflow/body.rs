//! The JSON in the documents of OneFlow: service templates, and the services made of them.
//!
//! One set of types serves both: a service is its template, merged with what the caller sent, plus what became
//! of it. Members stand in the recorded order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::State;

pub(super) const ROLES_MAX: usize = 16;
pub(super) const CARDINALITY_MAX: u32 = 32;
const LOG_LINES_MAX: usize = 50;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) name: String,
    #[serde(default = "straight")]
    pub(super) deployment: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) ready_status_gate: bool,
    pub(super) roles: Vec<Role>,
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
pub(super) struct Role {
    /// Only the dialect of 7.x says that a role is made of machines.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) cardinality: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vm_template: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) template_id: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parents: Vec<String>,
    #[serde(default)]
    pub(super) elasticity_policies: Vec<Value>,
    #[serde(default)]
    pub(super) scheduled_policies: Vec<Value>,
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
    pub(super) nodes: Option<Vec<Node>>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) on_hold: Option<bool>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) last_vmname: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Node {
    pub(super) deploy_id: i32,
    pub(super) vm_info: Value,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct LogLine {
    timestamp: i64,
    severity: &'static str,
    pub(super) message: String,
}

fn straight() -> String {
    "straight".to_owned()
}

/// What a service template says only in the words of 7.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Six,
    Seven,
}

impl Dialect {
    pub(super) fn of(template: &Value) -> Self {
        let is_seven = |role: &Value| role.get("template_id").is_some();
        match template["roles"].as_array() {
            Some(roles) if roles.iter().any(is_seven) => Dialect::Seven,
            _ => Dialect::Six,
        }
    }
}

impl Body {
    /// Says in OneFlow's words which key is missing or wrong.
    pub(super) fn parse(value: Value) -> Result<Body, String> {
        for key in ["name", "roles"] {
            if value.get(key).is_none_or(Value::is_null) {
                return Err(format!("KEY: '{key}' is required;"));
            }
        }
        let body: Body = serde_json::from_value(value)
            .map_err(|error| format!("KEY: the template is invalid: {error};"))?;
        if !(1..=ROLES_MAX).contains(&body.roles.len()) {
            return Err(format!("KEY: 'roles' must have 1 to {ROLES_MAX} entries;"));
        }
        for role in &body.roles {
            if role.vm_template.is_none() && role.template_id.is_none() {
                return Err("KEY: 'vm_template' is required;".to_owned());
            }
            if role.cardinality > CARDINALITY_MAX {
                return Err(format!("KEY: 'cardinality' must be at most {CARDINALITY_MAX};"));
            }
            let is_name = |name: &&String| body.roles.iter().any(|other| other.name == **name);
            if !role.parents.iter().all(|name| is_name(&name)) {
                return Err(format!("KEY: role '{}' has an unknown parent;", role.name));
            }
        }
        Ok(body)
    }

    pub(super) fn log(&mut self, severity: &'static str, timestamp: i64, message: impl Into<String>) {
        if self.log.len() >= LOG_LINES_MAX {
            self.log.remove(0);
        }
        self.log.push(LogLine { timestamp, severity, message: message.into() });
    }
}

impl Role {
    /// The VM template, whichever dialect named it.
    pub(super) fn template(&self) -> i32 {
        self.vm_template.or(self.template_id).unwrap_or(-1)
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.template_id.is_some() { Dialect::Seven } else { Dialect::Six }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.nodes.as_deref().unwrap_or_default()
    }

    pub(super) fn nodes_mut(&mut self) -> &mut Vec<Node> {
        self.nodes.get_or_insert_default()
    }

    pub(super) fn is(&self, state: State) -> bool {
        self.state == Some(state)
    }
}
