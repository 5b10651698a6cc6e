//! The JSON schemas of a plan's parameters: made from the plan, compiled once, and the judge of every request.

use std::fmt;

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::plan::CatalogPlan;

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// More than these are not told at a time.
const ERRORS_MAX: usize = 5;
/// Of the name of an unknown parameter.
const NAME_CHARS_MAX: usize = 64;
/// What a request chooses in a plan whose size is not fixed.
const SIZES: [&str; 8] = [
    "machineType",
    "autoScalerMin",
    "autoScalerMax",
    "maxSurge",
    "maxUnavailable",
    "zones",
    "diskType",
    "volumeSizeGb",
];

/// What parameters are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Create,
    Update,
    Bind,
}

impl Purpose {
    pub const ALL: [Purpose; 3] = [Purpose::Create, Purpose::Update, Purpose::Bind];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Create => "create",
            Purpose::Update => "update",
            Purpose::Bind => "bind",
        })
    }
}

pub(crate) fn of(plan: &CatalogPlan, purpose: Purpose) -> Value {
    match purpose {
        Purpose::Create => create(plan),
        Purpose::Update => object(&sized(plan, changeable(plan)), &[]),
        Purpose::Bind => object(
            &json!({"expiration_seconds": {
                "type": "integer", "minimum": 600, "maximum": 7200, "default": 600,
                "title": "Lifetime of the credentials in seconds",
            }}),
            &[],
        ),
    }
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "$schema": DRAFT, "type": "object", "additionalProperties": false,
        "properties": properties, "required": required,
    })
}

fn create(plan: &CatalogPlan) -> Value {
    let mut properties = changeable(plan);
    let text = |title: &str| json!({"type": "string", "minLength": 1, "maxLength": 256, "title": title});
    let areas: Vec<&String> = plan.areas.iter().map(|(area, _)| area).collect();
    let (regions, volume) = (&plan.regions, plan.limits.volume_gb);
    let places = if areas.is_empty() { json!(regions) } else { json!(areas) };
    let more = json!({
        "region": {"type": "string", "enum": places, "title": "Region"},
        "kymaVersion": text("Kyma version"),
        "components": {"type": "array", "maxItems": 100, "uniqueItems": true, "items": text("Component"),
                       "title": "Optional components to install"},
        "zones": {"type": "array", "maxItems": 3, "uniqueItems": true, "items": text("Zone")},
        "diskType": text("Type of the disks"),
        "volumeSizeGb": {"type": "integer", "minimum": volume.min, "maximum": volume.max,
                         "title": "Size of a disk in GB"},
        "purpose": text("Purpose"),
        "networking": object_of(&json!({"nodes": {
            "type": "string", "pattern": "^[0-9]{1,3}(\\.[0-9]{1,3}){3}/[0-9]{1,2}$", "title": "CIDR of the nodes",
        }})),
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
        if plan.target_secret {
            properties.insert("targetSecret".into(), text("Name of the cloud account to use"));
        }
    }
    let properties = sized(plan, properties);
    let required: &[&str] = if areas.is_empty() { &["name", "region"] } else { &["name"] };
    object(&properties, required)
}

/// Leaves out what a request cannot choose in a plan of a fixed size.
fn sized(plan: &CatalogPlan, mut properties: Value) -> Value {
    if let (true, Value::Object(properties)) = (plan.limits.fixed_size, &mut properties) {
        properties.retain(|name, _| !SIZES.contains(&name.as_str()));
    }
    properties
}

fn object_of(properties: &Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// What can also be changed later.
fn changeable(plan: &CatalogPlan) -> Value {
    let nodes = plan.limits.nodes;
    let count = |least: i32, title: &str, about: &str| json!({"type": "integer", "minimum": least, "maximum": nodes.max, "title": title, "description": about});
    let text = |title: &str| json!({"type": "string", "minLength": 1, "maxLength": 256, "title": title});
    json!({
        "name": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-zA-Z0-9-]*$", "title": "Name"},
        "machineType": {"type": "string", "enum": plan.machines, "default": plan.defaults.machine,
                        "title": "Machine type"},
        "autoScalerMin": count(nodes.min, "Auto scaler min", "Fewest nodes of the worker pool."),
        "autoScalerMax": count(nodes.min, "Auto scaler max", "Most nodes of the worker pool."),
        "maxSurge": count(1, "Max surge", "Nodes above the wanted number during an update."),
        "maxUnavailable": count(0, "Max unavailable", "Nodes below the wanted number during an update."),
        "administrators": {"type": "array", "maxItems": 50, "items": text("User"), "title": "Administrators"},
        "oidc": {"type": "object", "additionalProperties": false,
            "required": ["clientID", "issuerURL"],
            "properties": {
                "clientID": text("Client ID"), "issuerURL": text("Issuer URL"), "groupsClaim": text("Groups claim"),
                "usernameClaim": text("Username claim"), "usernamePrefix": text("Username prefix"),
                "signingAlgs": {"type": "array", "maxItems": 10, "items": text("Algorithm"), "title": "Signing algorithms"},
            },
            "title": "OIDC"},
    })
}

/// Refuses what a platform could not use, and anything that would make us fetch something.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if schema.get("$schema").is_none() {
        return Err("must name its $schema".into());
    }
    if schema.to_string().len() > SCHEMA_BYTES_MAX {
        return Err(format!("must have at most {SCHEMA_BYTES_MAX} bytes"));
    }
    if let Some(target) = outside_reference(schema) {
        return Err(format!("$ref must stay inside the schema, not lead to {target}"));
    }
    jsonschema::validator_for(schema).map_err(|error| error.to_string())
}

fn outside_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).filter(|target| !target.starts_with('#'));
            target.or_else(|| map.values().find_map(outside_reference))
        }
        Value::Array(items) => items.iter().find_map(outside_reference),
        _ => None,
    }
}

pub(crate) fn check(validator: &Validator, schema: &Value, parameters: &Value) -> Result<(), String> {
    let mut errors: Vec<String> = validator
        .iter_errors(parameters)
        .flat_map(|error| {
            let place = format!("parameters{}", error.instance_path().to_string().replace('/', "."));
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    let remedy = accepted(schema, &place);
                    unexpected.iter().map(|name| format!("{place}.{}: {remedy}", readable(name))).collect()
                }
                kind => vec![format!("{place}: {}", rule(kind))],
            }
        })
        .take(ERRORS_MAX)
        .collect();
    errors.dedup();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

/// What to do about a name that the schema does not have.
fn accepted(schema: &Value, place: &str) -> String {
    let known = schema["properties"].as_object().filter(|_| place == "parameters");
    match known.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>().join(", ")) {
        Some(names) if !names.is_empty() => format!("is unknown to this plan, which accepts {names}"),
        _ => "is unknown; see the schema in the catalog".into(),
    }
}

/// A name that a request made up, short enough for an answer and without what would break a line.
fn readable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

/// What is wrong, in words that come from the schema and never from a value of the request.
fn rule(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Required { property } => format!("{property} is missing"),
        ValidationErrorKind::Enum { options } => format!("must be one of {options}"),
        ValidationErrorKind::Type { .. } => "has the wrong type; see the schema in the catalog".into(),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("must have at most {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {}", counted(*limit, "item")),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {}", counted(*limit, "item")),
        ValidationErrorKind::Pattern { pattern } => format!("must match {pattern}"),
        ValidationErrorKind::UniqueItems => "must not have the same item twice".into(),
        _ => "does not fit the schema in the catalog".into(),
    }
}

/// `1 item`, `2 items`.
fn counted(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}
