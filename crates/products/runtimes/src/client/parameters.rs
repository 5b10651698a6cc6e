//! What a plan takes, read from its JSON Schema, and values from the command line made to fit it.

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Map, Value};

use super::ServicePlan;

/// A schema has at most 64 kB, so more than this is a mistake.
const PARAMETERS_MAX: usize = 1_000;
/// How often a schema may point elsewhere before it counts as going round in circles.
const DEPTH_MAX: usize = 8;
/// A longer name is not compared for typing errors.
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaAction {
    Create,
    Update,
    Bind,
}

impl SchemaAction {
    fn schema(self) -> &'static str {
        match self {
            SchemaAction::Create => "/service_instance/create/parameters",
            SchemaAction::Update => "/service_instance/update/parameters",
            SchemaAction::Bind => "/service_binding/create/parameters",
        }
    }
}

/// What one action on a plan takes.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) list: Vec<Parameter>,
    /// Whether the broker refuses names that are not in the list.
    pub(crate) is_closed: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The types that JSON Schema knows; none when the schema does not say.
    #[serde(rename = "types")]
    pub(crate) kinds: Vec<String>,
    /// Of the elements, when it is an array.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    element_kinds: Vec<String>,
    pub(crate) required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

impl Parameters {
    /// Nothing when the plan does not say what it takes.
    pub(crate) fn of(plan: &ServicePlan, action: SchemaAction) -> Option<Parameters> {
        let root = plan.schemas.as_ref()?.pointer(action.schema())?;
        let properties = root.get("properties")?.as_object()?;
        let required = root.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|it| it == name));
        let list = properties.iter().take(PARAMETERS_MAX);
        let list =
            list.map(|(name, schema)| Parameter::read(root, name, schema, is_required(name))).collect();
        let is_closed = root.get("additionalProperties") == Some(&Value::Bool(false))
            && root.get("patternProperties").is_none();
        Some(Parameters { list, is_closed })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Parameter> {
        self.list.iter().find(|parameter| parameter.name == name)
    }

    /// Says which names the plan does not have, with the one that was probably meant.
    pub(crate) fn unknown(&self, given: &Map<String, Value>) -> Option<String> {
        let names = || self.list.iter().map(|parameter| parameter.name.as_str());
        let unknown: Vec<String> = given
            .keys()
            .filter(|name| self.get(name).is_none())
            .map(|name| match nearest(name, names()) {
                Some(meant) => format!("`{name}` (did you mean `{meant}`?)"),
                None => format!("`{name}`"),
            })
            .collect();
        (!unknown.is_empty()).then(|| {
            let known: Vec<&str> = names().collect();
            format!("the plan has no parameter {}; it has {}", unknown.join(", "), known.join(", "))
        })
    }
}

impl Parameter {
    fn read(root: &Value, name: &str, schema: &Value, required: bool) -> Parameter {
        let schema = resolved(root, schema);
        let items = schema.get("items").map(|items| resolved(root, items));
        let constant = schema.get("const").into_iter();
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let element =
            items.and_then(|items| items.get("enum")).and_then(Value::as_array).into_iter().flatten();
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        Parameter {
            name: name.to_owned(),
            kinds: kinds(root, schema, 0),
            element_kinds: items.map(|items| kinds(root, items, 0)).unwrap_or_default(),
            required,
            default: schema.get("default").cloned(),
            allowed: constant.chain(listed).chain(element).cloned().collect(),
            limits: limits(schema),
            description: text("description").or_else(|| text("title")),
        }
    }

    /// `array of string`, `integer or null`.
    pub(crate) fn kind(&self) -> String {
        let kind = |kind: &String| match (kind.as_str(), self.element_kinds.as_slice()) {
            ("array", [_, ..]) => format!("array of {}", self.element_kinds.join(" or ")),
            _ => kind.clone(),
        };
        if self.kinds.is_empty() {
            "any".into()
        } else {
            self.kinds.iter().map(kind).collect::<Vec<_>>().join(" or ")
        }
    }

    /// The values that may be chosen from, or the limits, in words.
    pub(crate) fn choice(&self) -> Option<String> {
        let values: Vec<String> = self.allowed.iter().map(plain).collect();
        let values = (!values.is_empty()).then(|| values.join(", "));
        values.into_iter().chain(self.limits.clone()).reduce(|one, other| format!("{one}; {other}"))
    }

    /// The text as a value of a type that the plan takes.
    pub(crate) fn parse(&self, text: &str) -> Result<Value> {
        if self.kinds.is_empty() {
            return Ok(guessed(text));
        }
        let takes = |kind: &str| self.kinds.iter().any(|it| it == kind);
        if let Ok(value) = serde_json::from_str::<Value>(text)
            // Text that is meant as text needs no quotes, so quotes are part of it.
            && !value.is_string()
            && kinds_of(&value).iter().any(|kind| takes(kind))
        {
            return Ok(value);
        }
        if takes("string") {
            return Ok(Value::String(text.to_owned()));
        }
        bail!("--param {}: expected {}, got {text:?}", self.name, self.kind())
    }
}

/// What reads as JSON is JSON; anything else is text, so that a shell needs no second pair of quotes.
pub(crate) fn guessed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A value as people write it: text without quotes, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kinds_of(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Null => &["null"],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_f64() => &["number"],
        Value::Number(_) => &["integer", "number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    }
}

/// What a local `$ref` points at. Any other one is left alone: brokers must not use them.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn kinds(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    let schema = resolved(root, schema);
    let mut found: Vec<String> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.clone()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let ways = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    if found.is_empty() && depth < DEPTH_MAX {
        found.extend(ways.flat_map(|way| kinds(root, way, depth + 1)));
    }
    let values =
        schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
    if found.is_empty() {
        found.extend(values.filter_map(|value| kinds_of(value).first()).map(|&kind| kind.to_owned()));
    }
    let mut unique = Vec::new();
    for kind in found {
        if !unique.contains(&kind) {
            unique.push(kind);
        }
    }
    unique
}

fn limits(schema: &Value) -> Option<String> {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let range = |least: &str, most: &str, unit: &str| match (number(least), number(most)) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    };
    let pattern = schema.get("pattern").and_then(Value::as_str).map(|it| format!("matching {it}"));
    let parts = [
        range("minimum", "maximum", ""),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " elements"),
        pattern,
    ];
    parts.into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}

/// The name that was probably meant.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = name.chars().count().div_ceil(3).min(3);
    let near = names.map(|it| (distance(&name.to_lowercase(), &it.to_lowercase()), it));
    near.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, it)| it)
}

/// How many letters must be changed, added or left out.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(NAME_CHARS_MAX).collect();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().take(NAME_CHARS_MAX).enumerate() {
        let mut row = vec![i + 1];
        for (j, it) in other.iter().enumerate() {
            row.push((above[j] + usize::from(letter != *it)).min(above[j + 1] + 1).min(row[j] + 1));
        }
        above = row;
    }
    above[other.len()]
}

#[cfg(test)]
mod tests;
