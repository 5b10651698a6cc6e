//! Version 2 of the contract: the call of a step of a declared workflow.

use std::collections::BTreeMap;

use engine::secret::{ExposeSecret, SecretString};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// What a service is told. No `Debug`, because it may hold secrets.
#[derive(Serialize)]
pub struct StepCall<'a> {
    pub version: u8,
    pub action: Action,
    pub step: &'a str,
    /// How many calls since the step began, this one included. A look that found nothing new is not counted.
    pub attempt: u32,
    pub operation: CallOperation<'a>,
    pub idempotency_key: &'a str,
    pub params: CallParams<'a>,
    /// What the steps before it said, by their names.
    pub facts: BTreeMap<&'a str, &'a Map<String, Value>>,
    pub own: Own<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<CallSignal<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_url: Option<&'a str>,
    /// The bearer token that `signal_url` takes, for this operation alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_token: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Run,
    Undo,
}

/// The operation that the step belongs to.
#[derive(Serialize)]
pub struct CallOperation<'a> {
    pub id: &'a str,
    pub workflow: &'a str,
    pub workflow_version: u32,
    pub tenant: &'a str,
    pub resource: Option<&'a str>,
    pub created_at: &'a str,
    pub deadline_at: &'a str,
}

/// The params, with those in clear that are sealed and that this step may see.
pub struct CallParams<'a> {
    pub plain: &'a Map<String, Value>,
    /// Every name that must not go out of `plain`.
    pub sealed: &'a dyn Fn(&str) -> bool,
    pub opened: &'a BTreeMap<String, SecretString>,
}

impl Serialize for CallParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.plain.iter().filter(|(name, _)| !(self.sealed)(name)) {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in self.opened {
            map.serialize_entry(name, value.expose_secret())?;
        }
        map.end()
    }
}

/// What the step itself said before.
#[derive(Serialize)]
pub struct Own<'a> {
    pub facts: &'a Map<String, Value>,
    #[serde(serialize_with = "exposed")]
    pub secrets: BTreeMap<String, SecretString>,
}

#[derive(Serialize)]
pub struct CallSignal<'a> {
    pub key: &'a str,
    pub payload: &'a Value,
}

fn exposed<S: Serializer>(secrets: &BTreeMap<String, SecretString>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(secrets.iter().map(|(key, value)| (key, value.expose_secret())))
}
