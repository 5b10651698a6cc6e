//! What happened to an operation, for people and for the engine: the journal is both.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::ids::NodeId;
use crate::outcome::Cause;
use crate::phase::{Phase, PhaseVerb};

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
#[serde(deny_unknown_fields)]
pub struct Changes {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<String>,
    /// One that is done as well had nothing to do.
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

/// Which release accepted an operation, and by which plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanVersion {
    pub release: Release,
    /// A digest of the names of the steps.
    pub plan: String,
    /// The version of a workflow that was declared at run time: the operation ends with the one that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// A version number, compared part by part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub [u32; 3]);

impl Release {
    /// Reads `1.2.3`; what is not a number counts as 0, and what follows is left out.
    pub fn parse(text: &str) -> Release {
        let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().unwrap_or_default());
        Release(std::array::from_fn(|_| parts.next().unwrap_or_default()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Serialize for Release {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Release {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Release::parse(&text))
    }
}

/// What happened. A field that this release does not know makes an event unreadable: folded without it, the memory
/// would lack what a newer release remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// It was submitted. `started` is the first step: its intent needs no event of its own.
    Created {
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<PlanVersion>,
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
    /// The operation goes back, because a step failed or an operator cancelled it.
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
    /// An operator or an API asked for something.
    Asked {
        verb: PhaseVerb,
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
    fn an_event_with_a_field_of_a_newer_release_is_not_read() {
        for text in [
            r#"{"kind":"stepped","started":"launch","with":"care"}"#,
            r#"{"kind":"stepped","changes":{"notes":["a"]}}"#,
            r#"{"kind":"paused_by_policy"}"#,
        ] {
            let error = serde_json::from_str::<Body>(text).unwrap_err();
            assert!(error.is_data() && error.to_string().contains("unknown"), "{error}");
        }
    }

    #[test]
    fn releases_are_compared_part_by_part() {
        let release = Release::parse;
        assert!(release("0.10.0") > release("0.9.9") && release("1.0.0") > release("0.99.99"));
        assert_eq!(release("1.2.3-rc1"), Release([1, 2, 3]));
        assert_eq!((release("1.2").to_string(), release("").to_string()), ("1.2.0".into(), "0.0.0".into()));
        let text = serde_json::to_string(&release("1.2.3")).unwrap();
        assert_eq!(
            (text.as_str(), serde_json::from_str::<Release>(&text).unwrap()),
            ("\"1.2.3\"", Release([1, 2, 3]))
        );
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
