//! What happened to an operation, for people and for the engine: the journal is both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::ids::NodeId;
use crate::outcome::Cause;
use crate::phase::{Phase, Verb};

/// One line of an operation's journal. The numbers of an operation have no gap, and a number is given once:
/// that is what keeps a node that woke up late from writing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u32,
    pub at: Timestamp,
    pub body: Body,
}

/// What steps learned since the event before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, Cause>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// Somebody asked for it. `started` is the first step: its intent needs no event of its own.
    Created {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<String>,
    },
    /// Another node took over from one that died.
    Adopted { node: NodeId },
    /// Steps got on, and the next one is about to start.
    Stepped {
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<String>,
    },
    Waited {
        step: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
    },
    /// Something broke that may heal; `undo` says in which direction.
    Retried {
        step: String,
        cause: Cause,
        attempt: u32,
        spent_ms: u64,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
    },
    /// The operation goes back, because a step failed or because somebody cancelled.
    Turned {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        because: Because,
        cause: Cause,
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
    },
    /// A person must decide. `left_over` names the steps whose work may still be in the world.
    Stuck {
        step: String,
        cause: Cause,
        left_over: Vec<String>,
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
    },
    /// An operator or a door asked for something.
    Asked {
        verb: Verb,
        by: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        at: Timestamp,
    },
    /// The outside told us something that a step waits for.
    Signalled { key: String, payload: Value },
    Finished {
        phase: Phase,
        /// The step that failed, where nothing had to be taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        changes: Changes,
    },
}

/// Why an operation went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    Failed,
    Cancelled,
}

impl Body {
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Created { .. } => "created",
            Body::Adopted { .. } => "adopted",
            Body::Stepped { .. } => "stepped",
            Body::Waited { .. } => "waited",
            Body::Retried { .. } => "retried",
            Body::Turned { .. } => "turned",
            Body::Stuck { .. } => "stuck",
            Body::Asked { .. } => "asked",
            Body::Signalled { .. } => "signalled",
            Body::Finished { .. } => "finished",
        }
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("an event is plain data")
    }
}

/// The same value with every sealed secret replaced, for people's eyes.
pub fn masked(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("sealed:") => Value::String("<sealed>".into()),
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, v)| (key, masked(v))).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_back_and_an_idle_one_is_short() {
        let body = Body::Stepped { changes: Changes::default(), started: Some("launch".into()) };
        assert_eq!(body.to_text(), r#"{"kind":"stepped","started":"launch"}"#);
        assert_eq!(serde_json::from_str::<Body>(&body.to_text()).unwrap(), body);
    }

    #[test]
    fn the_kind_is_the_tag() {
        let body = Body::Signalled { key: "k".into(), payload: Value::Null };
        let value = serde_json::to_value(&body).unwrap();
        assert_eq!(value["kind"], body.kind());
    }

    #[test]
    fn sealed_values_are_masked_at_any_depth() {
        let value = serde_json::json!({"a": [{"b": "sealed:1:k1:AAAA"}], "c": "plain"});
        assert_eq!(masked(value), serde_json::json!({"a": [{"b": "<sealed>"}], "c": "plain"}));
    }
}
