//! Examples: a value for each schema, and the `curl` command of an operation.

use serde_json::{Map, Value, json};

/// Deeper values are left out.
const DEPTH_MAX: usize = 4;

/// The schema that a reference leads to, or the schema itself.
pub(super) fn resolved<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        let Some(name) = reference(schema) else { break };
        schema = &api["components"]["schemas"][name];
    }
    schema
}

/// The name in a reference, also where null is allowed beside it.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    let direct = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let others = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    direct.or_else(|| others.into_iter().find_map(|part| part["$ref"].as_str()?.rsplit('/').next()))
}

/// A value that fits a schema: its example, its default, or one that is made up.
pub(super) fn value(api: &Value, schema: &Value, depth: usize) -> Value {
    let given = ["example", "default"].into_iter().map(|key| &schema[key]).find(|value| !value.is_null());
    if let Some(given) = given.or_else(|| schema["examples"].get(0)) {
        return given.clone();
    }
    if reference(schema).is_some() && depth < DEPTH_MAX {
        return value(api, resolved(api, schema), depth + 1);
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let types = &schema["type"];
    let kind = types
        .as_str()
        .or_else(|| types.as_array()?.iter().filter_map(Value::as_str).find(|kind| *kind != "null"));
    match kind {
        Some("string") if schema["format"] == "uuid" => json!("01890a5d-ac96-774b-bcce-b302099a8057"),
        Some("string") if schema["format"] == "date-time" => json!("2026-01-31T12:00:00Z"),
        Some("string") => json!("text"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") if depth < DEPTH_MAX => json!([value(api, &schema["items"], depth + 1)]),
        Some("array") => json!([]),
        _ => object(api, schema, depth),
    }
}

/// Its required members, and those that have an example.
fn object(api: &Value, schema: &Value, depth: usize) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut members = Map::new();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let is_shown = required.contains(&name.as_str()) || !member["example"].is_null();
        if is_shown && depth < DEPTH_MAX {
            members.insert(name.clone(), value(api, member, depth + 1));
        }
    }
    Value::Object(members)
}

/// How to call an operation with `curl`.
pub(super) fn curl(api: &Value, method: &str, path: &str, operation: &Value) -> String {
    let mut line = String::from("curl -sS");
    if method != "get" {
        line.extend([" -X ", &method.to_uppercase()]);
    }
    line.extend([" \"$SERVER", path, "\""]);
    let is_open = operation["security"].as_array().is_none_or(Vec::is_empty);
    if !is_open {
        line.push_str(" \\\n  -H \"Authorization: Bearer $TOKEN\"");
    }
    let body = &operation["requestBody"]["content"]["application/json"];
    if !body.is_null() {
        let example = ["example"].into_iter().map(|key| &body[key]).find(|value| !value.is_null());
        let example = example.cloned().unwrap_or_else(|| value(api, &body["schema"], 0));
        // A single quote would end the argument.
        let text = example.to_string().replace('\'', "'\\''");
        line.extend([" \\\n  -H 'Content-Type: application/json' \\\n  -d '", &text, "'"]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_what_is_required_and_ends() {
        let api = json!({"components": {"schemas": {"Node": {
            "type": "object", "required": ["name", "next", "kind"],
            "properties": {
                "name": {"type": "string", "example": "it's"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "next": {"$ref": "#/components/schemas/Node"},
                "more": {"type": "string"},
            },
        }}}});
        let operation = json!({
            "security": [{"token": []}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}},
        });
        let line = curl(&api, "post", "/nodes", &operation);
        assert!(line.starts_with("curl -sS -X POST \"$SERVER/nodes\" \\\n  -H \"Authorization"), "{line}");
        assert!(
            line.contains(r#""kind":"a""#) && line.contains(r"it'\''s") && !line.contains("more"),
            "{line}"
        );
        assert_eq!(curl(&api, "get", "/x", &json!({})), "curl -sS \"$SERVER/x\"");
    }
}
