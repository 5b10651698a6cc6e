//! The params of a workflow, as people read them: from its JSON Schema.

use serde_json::Value;

use crate::output::{Cell, Table};

/// A description that is longer is in `-o json`.
const ABOUT_CHARS_MAX: usize = 90;
/// More values than this are in `-o json`.
const VALUES_MAX: usize = 6;

/// One line for each param; nothing where the schema names none.
pub(super) fn table(schema: &Value) -> Option<Table> {
    let properties = schema.get("properties")?.as_object().filter(|properties| !properties.is_empty())?;
    let required: Vec<&str> = texts(schema.get("required"));
    let mut table = Table::new(["PARAM", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"]);
    for (name, property) in properties {
        let is_required = required.contains(&name.as_str());
        table.row([
            Cell::new(name),
            Cell::new(kind(property)),
            Cell::new(if is_required { "yes" } else { "no" }),
            Cell::maybe(property.get("default").filter(|default| !default.is_null()).map(plain)),
            Cell::maybe(about(property)).cut(ABOUT_CHARS_MAX),
        ]);
    }
    Some(table)
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Its values where it has a few, else its type.
fn kind(property: &Value) -> String {
    let mut kinds = kinds(property);
    kinds.dedup();
    let kind = if kinds.is_empty() { "any".to_owned() } else { kinds.join("|") };
    let is_secret = property.get("writeOnly") == Some(&Value::Bool(true));
    if is_secret { format!("{kind}, secret") } else { kind }
}

fn kinds(property: &Value) -> Vec<String> {
    let values = property.get("enum").and_then(Value::as_array);
    if let Some(values) = values.filter(|values| values.len() <= VALUES_MAX) {
        return values.iter().filter(|value| !value.is_null()).map(plain).collect();
    }
    if let Some(value) = property.get("const") {
        return vec![plain(value)];
    }
    let named: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        other => texts(other),
    };
    let of_items = || {
        let items = property.get("items").map(kinds).unwrap_or_default().join("|");
        if items.is_empty() { "array".to_owned() } else { format!("array of {items}") }
    };
    let own = named.into_iter().filter(|kind| *kind != "null");
    let own = own.map(|kind| if kind == "array" { of_items() } else { kind.to_owned() });
    let parts = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| property.get(key)?.as_array());
    own.chain(parts.flatten().flat_map(kinds)).collect()
}

/// The first sentences of it, in one line.
fn about(property: &Value) -> Option<String> {
    let text = ["description", "title"].into_iter().find_map(|key| property.get(key)?.as_str())?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_a_table_of_names_types_and_defaults() {
        let schema = json!({
            "type": "object",
            "required": ["team"],
            "properties": {
                "team": {"type": "string", "title": "Team"},
                "size": {"enum": ["small", "large"], "default": "small", "description": "How large\n it is."},
                "count": {"type": ["integer", "null"], "default": null},
                "tags": {"type": "array", "items": {"type": "string"}},
                "place": {"oneOf": [{"type": "null"}, {"type": "object"}]},
                "password": {"type": "string", "writeOnly": true},
                "free": {},
            }
        });
        let lines: Vec<Vec<String>> = table(&schema)
            .unwrap()
            .to_text()
            .lines()
            .map(|line| {
                line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
            })
            .collect();
        assert_eq!(lines[0], ["PARAM", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"]);
        let line = |name: &str| lines.iter().find(|line| line[0] == name).unwrap()[1..].join(",");
        for (name, expected) in [
            ("team", "string,yes,-,Team"),
            ("size", "small|large,no,small,How large it is."),
            ("count", "integer,no,-,-"),
            ("tags", "array of string,no,-,-"),
            ("place", "object,no,-,-"),
            ("password", "string, secret,no,-,-"),
            ("free", "any,no,-,-"),
        ] {
            assert_eq!(line(name), expected, "{name}");
        }
    }

    #[test]
    fn what_names_no_param_has_no_table() {
        for schema in [json!({"type": "object"}), json!({"properties": {}}), json!(true), Value::Null] {
            assert!(table(&schema).is_none(), "{schema}");
        }
    }
}
