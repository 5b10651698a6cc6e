//! The params of a workflow: their JSON Schema, their defaults, and those that are only written.

use std::collections::BTreeSet;
use std::sync::Arc;

use config::{Spot, TreeNode};
use engine::secret::{Sealer, SecretString};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::declaration::Wrong;

/// How many faults one answer names.
const FAULTS_MAX: usize = 5;

pub struct Params {
    pub schema: Arc<Value>,
    validator: Validator,
    write_only: BTreeSet<String>,
    /// Nothing where the schema names no properties.
    names: BTreeSet<String>,
}

impl Params {
    pub(crate) fn read(node: Option<&TreeNode>, around: Spot) -> Result<Params, Wrong> {
        let spot = node.map_or(around, |node| node.spot);
        let schema = node.map_or_else(|| json!({"type": "object"}), TreeNode::to_json);
        Params::new(schema).map_err(|why| Wrong::at(spot, why))
    }

    pub(crate) fn new(schema: Value) -> Result<Params, String> {
        if schema.get("type") != Some(&json!("object")) {
            return Err("params must be a JSON Schema with type: object".into());
        }
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
        let validator = options.build(&schema).map_err(|error| {
            let path = error.instance_path().to_string();
            let path = if path.is_empty() { String::new() } else { format!(" at {path}") };
            format!("params is no JSON Schema that can be used{path}: {error}")
        })?;
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let is_write_only = |property: &Value| property.get("writeOnly") == Some(&json!(true));
        let mut write_only = BTreeSet::new();
        for (name, property) in properties.iter().filter(|(_, property)| is_write_only(property)) {
            if property.get("type") != Some(&json!("string")) {
                return Err(format!("{name} is writeOnly, so its type must be string"));
            }
            if property.get("default").is_some() {
                return Err(format!("{name} is writeOnly, so it has no default: all could read it"));
            }
            write_only.insert(name.clone());
        }
        if count_write_only(&schema) > write_only.len() {
            return Err(
                "writeOnly is for properties of the params themselves, not for what is inside them".into()
            );
        }
        let names = properties.keys().cloned().collect();
        Ok(Params { schema: Arc::new(schema), validator, write_only, names })
    }

    pub(crate) fn is_write_only(&self, name: &str) -> bool {
        self.write_only.contains(name)
    }

    /// A param that conditions and names may use.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), String> {
        if self.is_write_only(name) {
            return Err(format!("{name} is writeOnly and cannot be used here"));
        }
        if !self.names.contains(name) {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            return Err(format!("there is no param {name}; params has {}", known.join(", ")));
        }
        Ok(())
    }

    /// What a client sent, with the defaults of the schema.
    pub(crate) fn with_defaults(&self, asked: &Value) -> Result<Map<String, Value>, String> {
        let mut filled = match asked {
            Value::Null => json!({}),
            other => other.clone(),
        };
        fill(&self.schema, &mut filled);
        match filled {
            Value::Object(map) => Ok(map),
            _ => Err("params must be an object".into()),
        }
    }

    /// Checks what a client sent, and seals what is `writeOnly`.
    pub(crate) fn admit(&self, asked: &Value, sealer: &Sealer) -> Result<Map<String, Value>, String> {
        let filled = Value::Object(self.with_defaults(asked)?);
        // A value may be secret, so none is repeated.
        let fault = |error: jsonschema::ValidationError<'_>| {
            let path = error.instance_path().to_string();
            let place = path.trim_start_matches('/').replace('/', ".");
            let words = error.masked().to_string();
            if place.is_empty() { words } else { format!("{place}: {words}") }
        };
        let faults: Vec<String> = self.validator.iter_errors(&filled).take(FAULTS_MAX).map(fault).collect();
        if !faults.is_empty() {
            return Err(faults.join("; "));
        }
        let Value::Object(mut map) = filled else { return Err("params must be an object".into()) };
        for name in &self.write_only {
            if let Some(Value::String(text)) = map.get_mut(name) {
                let secret = SecretString::from(std::mem::take(text));
                sealer.seal(&secret).as_str().clone_into(text);
            }
        }
        Ok(map)
    }
}

fn fill(schema: &Value, value: &mut Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let Some(map) = value.as_object_mut() else { return };
    for (name, property) in properties {
        match (map.get_mut(name), property.get("default")) {
            (Some(inner), _) => fill(property, inner),
            (None, Some(default)) => {
                map.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
}

fn count_write_only(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            let own = usize::from(map.get("writeOnly") == Some(&Value::Bool(true)));
            own + map.values().map(count_write_only).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_write_only).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that fetched what a declaration names would read its own files and call its own network.
    #[test]
    fn a_schema_refers_to_nothing_outside_itself() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/schema.json", listener.local_addr().unwrap());
        for elsewhere in
            [url.as_str(), "file:///etc/hostname", "https://metadata.google.internal/", "other.json"]
        {
            let schema = json!({"type": "object", "properties": {"a": {"$ref": elsewhere}}});
            assert!(Params::new(schema).is_err(), "{elsewhere}");
        }
        assert!(listener.accept().is_err(), "something was asked for it");
        let inside =
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
        assert!(Params::new(inside).is_ok());
    }
}
