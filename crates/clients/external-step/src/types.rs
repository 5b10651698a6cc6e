//! Wire types of contract v1.

use std::collections::{BTreeMap, BTreeSet};

use engine::secret::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What a service is told. No `Debug`, because it may hold secrets.
#[derive(Serialize)]
pub struct StepRequest<'a> {
    version: u8,
    pub step: &'a str,
    pub operation: StepContext<'a>,
    pub instance: OwnerContext<'a>,
    /// What the service said to be kept, the last time it was asked.
    pub facts: &'a Map<String, Value>,
    #[serde(serialize_with = "exposed", skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_facts: BTreeMap<String, SecretString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
}

/// The operation that the step belongs to.
#[derive(Serialize)]
pub struct StepContext<'a> {
    pub id: &'a str,
    pub workflow: &'a str,
    /// The same for every call of this step in this operation.
    pub token: &'a str,
}

/// The instance that the operation works on.
#[derive(Serialize)]
pub struct OwnerContext<'a> {
    pub instance_id: &'a str,
    pub plan: &'a str,
    pub plan_id: &'a str,
    pub provider: &'a str,
    pub region: &'a str,
    pub account: &'a str,
    pub subaccount: &'a str,
    pub shoot: &'a str,
    pub runtime_id: Option<&'a str>,
}

impl<'a> StepRequest<'a> {
    /// A call that tells nothing secret.
    pub fn new(
        step: &'a str,
        operation: StepContext<'a>,
        instance: OwnerContext<'a>,
        facts: &'a Map<String, Value>,
    ) -> StepRequest<'a> {
        let secret_facts = BTreeMap::new();
        StepRequest {
            version: 1,
            step,
            operation,
            instance,
            facts,
            secret_facts,
            parameters: None,
            context: None,
        }
    }
}

/// What a service answers. No `Debug`, because it may hold secrets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResponse {
    pub outcome: Verdict,
    #[serde(default)]
    pub after_seconds: Option<u32>,
    #[serde(default)]
    pub reason: Option<String>,
    /// `None` leaves the ones that are kept already.
    #[serde(default)]
    pub facts: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "secrets")]
    pub secret_facts: Option<BTreeMap<String, SecretString>>,
    #[serde(default)]
    pub overrides: Vec<Override>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Done,
    Wait,
    Retry,
    Fail,
}

/// A value for one component of the runtime, or for all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// `None` is for all components.
    pub component: Option<String>,
    pub key: String,
    #[serde(deserialize_with = "secret")]
    pub value: SecretString,
    #[serde(default)]
    pub secret: bool,
    /// What earlier steps gave the component goes first.
    #[serde(default)]
    pub set: bool,
}

/// As long as a name may be in Kubernetes, which is where all of them go.
const NAME_CHARS_MAX: usize = 253;
/// Facts stand deep inside the journal, and what is too deep there can never be read again.
const FACT_DEPTH_MAX: usize = 32;

impl StepResponse {
    /// Reads an answer. The error says what is wrong with which field, and repeats no value: any may be secret.
    pub(super) fn read(body: &[u8]) -> Result<StepResponse, String> {
        // A list would be read as the fields in their order.
        if body.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
            return Err("it is not a JSON object with the field outcome".into());
        }
        let mut json = serde_json::Deserializer::from_slice(body);
        let answer: StepResponse =
            serde_path_to_error::deserialize(&mut json).map_err(|error| explain(&error))?;
        json.end().map_err(|_| "something comes after the answer".to_owned())?;
        answer.check()?;
        Ok(answer)
    }

    fn check(&self) -> Result<(), String> {
        for (index, one) in self.overrides.iter().enumerate() {
            name(&one.key).map_err(|why| format!("overrides[{index}].key {why}"))?;
            if let Some(component) = &one.component {
                name(component).map_err(|why| format!("overrides[{index}].component {why}"))?;
            } else if one.set {
                return Err(format!("overrides[{index}].set needs a component whose values it replaces"));
            }
        }
        let facts = self.facts.iter().flat_map(Map::keys);
        let secret = self.secret_facts.iter().flat_map(BTreeMap::keys);
        for (which, key) in facts.map(|key| ("facts", key)).chain(secret.map(|key| ("secret_facts", key))) {
            name(key).map_err(|why| format!("a key of {which} {why}"))?;
        }
        if self.facts.iter().flat_map(Map::values).any(|fact| is_deeper(fact, FACT_DEPTH_MAX)) {
            return Err(format!("facts may be nested {FACT_DEPTH_MAX} times and not more"));
        }
        Ok(())
    }

    /// The components whose values of earlier steps are replaced.
    pub fn replaced(&self) -> BTreeSet<&str> {
        self.overrides.iter().filter(|one| one.set).filter_map(|one| one.component.as_deref()).collect()
    }
}

fn name(text: &str) -> Result<(), String> {
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(format!("must have 1 to {NAME_CHARS_MAX} characters that can be read"));
    }
    Ok(())
}

fn is_deeper(value: &Value, than: usize) -> bool {
    match value {
        Value::Array(items) => than == 0 || items.iter().any(|item| is_deeper(item, than - 1)),
        Value::Object(map) => than == 0 || map.values().any(|item| is_deeper(item, than - 1)),
        _ => false,
    }
}

/// Only those words of the parser that name fields. Others quote what they found.
fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (path, inner) = (error.path().to_string(), error.inner());
    if !inner.is_data() {
        return format!("it is not JSON, from line {} column {} on", inner.line(), inner.column());
    }
    let words = inner.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    let names_fields = ["unknown field", "missing field", "duplicate field"];
    match path.as_str() {
        "outcome" => "outcome must be done, wait, retry or fail".into(),
        _ if names_fields.iter().any(|start| words.starts_with(start)) => http_client::shorten(words),
        path => format!("{} cannot be used; look at its type", http_client::shorten(path)),
    }
}

fn exposed<S: Serializer>(secrets: &BTreeMap<String, SecretString>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(secrets.iter().map(|(key, value)| (key, value.expose_secret())))
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

fn secrets<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, SecretString>>, D::Error> {
    let read = Option::<BTreeMap<String, String>>::deserialize(from)?;
    Ok(read.map(|map| map.into_iter().map(|(key, value)| (key, value.into())).collect()))
}
