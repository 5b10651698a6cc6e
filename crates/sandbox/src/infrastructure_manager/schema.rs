//! The schemas of the resources, and how the server checks an object against one.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::failure::FieldCause;
use super::kinds::KubeKind;

/// Parts of a schema that are used in more than one place stand once, under a name with a dollar.
const PARTS: [&str; 3] = ["$oidc", "$quantity", "$worker"];
/// What Infrastructure Manager of June 2025 did not have.
const NOT_IN_2025: [&str; 8] = [
    "/properties/spec/properties/auditLogAccessEnabled",
    "/properties/spec/properties/shoot/properties/enableNvidiaOpenshell",
    "/properties/spec/properties/shoot/properties/kubernetes/properties/kubeAPIServer/properties/acl",
    "/properties/spec/properties/shoot/properties/networking/properties/dualStack",
    "/properties/spec/properties/shoot/properties/networking/properties/vpcNetwork",
    "/properties/status/properties/auditLogCR",
    "/properties/status/properties/shootLastErrors",
    "/properties/status/properties/shootLastOperation",
];

static RUNTIME: LazyLock<Value> = LazyLock::new(|| whole(include_str!("../../schema/runtime.json")));
static RUNTIME_2025: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = RUNTIME.clone();
    for path in NOT_IN_2025 {
        let (owner, name) = path.rsplit_once('/').unwrap_or_default();
        if let Some(fields) = schema.pointer_mut(owner).and_then(Value::as_object_mut) {
            fields.remove(name);
        }
    }
    let providers = "/properties/spec/properties/shoot/properties/provider/properties/type/enum";
    if let Some(Value::Array(providers)) = schema.pointer_mut(providers) {
        providers.truncate(4);
    }
    schema
});
static KYMA: LazyLock<Value> = LazyLock::new(|| whole(include_str!("../../schema/kyma.json")));

fn whole(text: &str) -> Value {
    let mut schema: Value = serde_json::from_str(text).expect("the schema of this crate is JSON");
    let part = |name: &str| schema[name].clone();
    let parts = PARTS.map(|name| (name, part(name)));
    for _ in PARTS {
        replace_parts(&mut schema, &parts);
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| !name.starts_with('$'));
    }
    schema
}

fn replace_parts(schema: &mut Value, parts: &[(&str, Value)]) {
    if let Some((_, part)) = parts.iter().find(|(name, _)| schema.get(*name) == Some(&Value::Bool(true))) {
        *schema = part.clone();
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(|inner| replace_parts(inner, parts)),
        Value::Array(items) => items.iter_mut().for_each(|inner| replace_parts(inner, parts)),
        _ => {}
    }
}

/// None for a kind whose objects are taken as they are.
pub(super) fn of(kind: KubeKind, is_older: bool) -> Option<&'static Value> {
    match kind {
        KubeKind::Runtime if is_older => Some(&RUNTIME_2025),
        KubeKind::Runtime => Some(&RUNTIME),
        KubeKind::Kyma => Some(&KYMA),
        _ => None,
    }
}

/// Removes what the schema does not have, and names it.
pub(super) fn prune(schema: &Value, value: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Some(fields) = value.as_object_mut() {
        // The metadata of every kind is the same, and the server knows all of it.
        let metadata = fields.remove("metadata");
        prune_fields(schema, "", fields, &mut unknown);
        fields.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata)));
    }
    unknown.sort();
    unknown
}

fn prune_fields(schema: &Value, path: &str, fields: &mut Map<String, Value>, unknown: &mut Vec<String>) {
    // Null counts as absent.
    fields.retain(|_, value| !value.is_null());
    if schema["x-kubernetes-preserve-unknown-fields"] == true || schema.get("additionalProperties").is_some()
    {
        return;
    }
    let Some(known) = schema["properties"].as_object() else { return };
    fields.retain(|name, value| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let schema = known.get(name);
        if let Some(schema) = schema {
            prune_value(schema, &path, value, unknown);
        } else {
            unknown.push(path);
        }
        schema.is_some()
    });
}

fn prune_value(schema: &Value, path: &str, value: &mut Value, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => prune_fields(schema, path, fields, unknown),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune_value(&schema["items"], &format!("{path}[{index}]"), item, unknown);
            }
        }
        _ => {}
    }
}

/// What is wrong with a part of an object, in the order of its fields.
pub(super) fn check(schema: &Value, path: &str, value: &Value) -> Vec<FieldCause> {
    let mut causes = Vec::new();
    check_value(schema, path, value, &mut causes);
    causes.sort();
    causes
}

fn check_value(schema: &Value, path: &str, value: &Value, causes: &mut Vec<FieldCause>) {
    if schema["x-kubernetes-int-or-string"] == true {
        check_text(schema, path, value, causes);
        return;
    }
    let (wanted, found) = (schema["type"].as_str().unwrap_or_default(), type_of(value));
    if wanted != found && !wanted.is_empty() {
        let message = format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
        causes.push(FieldCause { field: path.to_owned(), reason: "FieldValueTypeInvalid", message });
        return;
    }
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing = required.filter(|name| fields.get(*name).is_none_or(Value::is_null));
            causes.extend(missing.map(|name| FieldCause::required(format!("{path}.{name}"))));
            for (name, inner) in fields {
                let schema = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                if let Some(schema) = schema {
                    check_value(schema, &format!("{path}.{name}"), inner, causes);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_value(&schema["items"], &format!("{path}[{index}]"), item, causes);
            }
        }
        _ => check_text(schema, path, value, causes),
    }
}

fn check_text(schema: &Value, path: &str, value: &Value, causes: &mut Vec<FieldCause>) {
    let Some(text) = value.as_str() else { return };
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let message = format!("Unsupported value: {text:?}: supported values: {}", allowed.join(", "));
        causes.push(FieldCause { field: path.to_owned(), reason: "FieldValueNotSupported", message });
    }
    if schema["format"] == "byte" && STANDARD.decode(text).is_err() {
        let message = format!("Invalid value: {text:?}: {path} in body must be of type byte: {text:?}");
        causes.push(FieldCause { field: path.to_owned(), reason: "FieldValueTypeInvalid", message });
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let fits = if pattern == "^[a-z]+$" {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase())
        } else {
            is_quantity(text)
        };
        if !fits {
            causes.push(FieldCause::invalid(
                path,
                format!("{text:?}: {path} in body should match '{pattern}'"),
            ));
        }
    }
}

/// A number, perhaps with a sign and a suffix such as `Mi`.
fn is_quantity(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = text.trim_end_matches(|one: char| one.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let is_suffix = suffix.is_empty()
        || ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].contains(&suffix)
        || (suffix.len() == 1 && "numkMGTPE".contains(suffix));
    is_suffix && !digits.is_empty() && digits.parse::<f64>().is_ok_and(f64::is_finite)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
