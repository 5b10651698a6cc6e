//! Which fields of a runtime an installation has. Older ones lack some, and a strict server refuses those.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A part of the schema of an installed resource definition.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct FieldSchema {
    #[serde(rename = "type")]
    kind: String,
    properties: std::collections::BTreeMap<String, FieldSchema>,
    items: Option<Box<FieldSchema>>,
    #[serde(rename = "enum")]
    values: Vec<Value>,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    keeps_unknown: bool,
    #[serde(rename = "additionalProperties")]
    additional: Option<Value>,
}

/// What the installed resource definition of runtimes has below `spec`.
#[derive(Debug, Clone, PartialEq)]
pub struct InstalledSchema {
    spec: FieldSchema,
}

/// A spec with only what is installed.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedSpec {
    pub spec: Value,
    /// The fields that were left out, such as `spec.shoot.networking.dualStack`, sorted.
    pub left_out: Vec<String>,
}

impl InstalledSchema {
    /// Of the schema of the whole resource, in the form that resource definitions and OpenAPI share.
    pub fn of(schema: &Value) -> Option<InstalledSchema> {
        let spec = schema.pointer("/properties/spec")?;
        let spec = serde_json::from_value::<FieldSchema>(spec.clone()).ok()?;
        (!spec.properties.is_empty()).then_some(InstalledSchema { spec })
    }

    /// Whether a field such as `spec.shoot.networking.dualStack` is installed. Items of lists have no part in the path.
    pub fn has(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// Whether a field has this as one of its values, or is not limited to any.
    pub fn allows(&self, path: &str, value: &str) -> bool {
        self.find(path).is_some_and(|field| {
            field.values.is_empty() || field.values.iter().any(|allowed| allowed == value)
        })
    }

    fn find(&self, path: &str) -> Option<&FieldSchema> {
        let mut parts = path.split('.');
        if parts.next() != Some("spec") {
            return None;
        }
        let mut at = &self.spec;
        for part in parts {
            let inner = at.items.as_deref().unwrap_or(at);
            match inner.properties.get(part) {
                Some(next) => at = next,
                None if inner.takes_everything() => return Some(inner),
                None => return None,
            }
        }
        Some(at)
    }

    /// Leaves out what is not installed. Works for a whole spec and for a merge patch of one.
    pub fn fit(&self, spec: &Value) -> FittedSpec {
        let mut left_out = Vec::new();
        let spec = self.spec.fit("spec", spec, &mut left_out);
        left_out.sort();
        left_out.dedup();
        FittedSpec { spec, left_out }
    }
}

impl FieldSchema {
    fn takes_everything(&self) -> bool {
        self.keeps_unknown
            || self.additional.is_some()
            || (self.kind.is_empty() && self.properties.is_empty())
    }

    fn fit(&self, path: &str, value: &Value, left_out: &mut Vec<String>) -> Value {
        match (value, &self.items) {
            (Value::Array(items), Some(schema)) => {
                items.iter().map(|item| schema.fit(path, item, left_out)).collect()
            }
            (Value::Object(fields), None) if !self.takes_everything() || !self.properties.is_empty() => {
                let mut kept = Map::new();
                for (name, inner) in fields {
                    let path = format!("{path}.{name}");
                    match self.properties.get(name) {
                        Some(schema) => {
                            kept.insert(name.clone(), schema.fit(&path, inner, left_out));
                        }
                        None if self.takes_everything() => {
                            kept.insert(name.clone(), inner.clone());
                        }
                        None => left_out.push(path),
                    }
                }
                Value::Object(kept)
            }
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_installed_is_left_out_by_name() {
        let text = json!({"type": "string"});
        let worker = json!({"type": "object", "properties": {"name": text}});
        let schema = InstalledSchema::of(&json!({"properties": {"spec": {"type": "object", "properties": {
            "shoot": {"type": "object", "properties": {
                "name": text,
                "provider": {"type": "object", "properties": {
                    "type": {"type": "string", "enum": ["aws", "gcp"]},
                    "workers": {"type": "array", "items": worker},
                    "infrastructureConfig": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "labels": {"type": "object", "additionalProperties": text},
                }},
            }},
        }}}}))
        .unwrap();
        let fitted = schema.fit(&json!({"shoot": {
            "name": "a",
            "networking": {"dualStack": true},
            "provider": {
                "type": "aws",
                "workers": [{"name": "w", "gpu": 1}, {"gpu": 2}],
                "infrastructureConfig": {"any": {"thing": 1}},
                "labels": {"any": "thing"},
                "additionalWorkers": null,
            },
        }}));
        assert_eq!(
            fitted.left_out,
            [
                "spec.shoot.networking",
                "spec.shoot.provider.additionalWorkers",
                "spec.shoot.provider.workers.gpu"
            ]
        );
        assert_eq!(
            fitted.spec,
            json!({"shoot": {"name": "a", "provider": {
                "type": "aws",
                "workers": [{"name": "w"}, {}],
                "infrastructureConfig": {"any": {"thing": 1}},
                "labels": {"any": "thing"},
            }}})
        );
        assert!(schema.has("spec.shoot.provider.workers.name") && !schema.has("spec.shoot.acl"));
        assert!(schema.has("spec.shoot.provider.infrastructureConfig.x") && !schema.has("status"));
        assert!(schema.allows("spec.shoot.provider.type", "gcp"));
        assert!(!schema.allows("spec.shoot.provider.type", "gdch"));
        assert_eq!(InstalledSchema::of(&json!({"properties": {}})), None);
    }
}
