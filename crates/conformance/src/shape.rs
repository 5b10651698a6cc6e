//! Parameters made from a JSON schema: legal ones, other legal ones, and illegal ones of each kind.

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// A schema that nests deeper gets no parameters from us.
const DEPTH_MAX: usize = 8;

/// Strings that most patterns and formats have one of.
const STRINGS: &[&str] = &[
    "conformance",
    "conformance-two",
    "c1",
    "C",
    "7",
    "eu-central-1",
    "10.250.0.0/22",
    "1.2.3",
    "https://conformance.example.com",
    "someone@example.com",
    "2030-01-01T00:00:00Z",
    "0f0e3bd1-9f4f-4b3c-8f6c-3f7d7a3c0b11",
];

pub(crate) struct SchemaShape {
    schema: Value,
    validator: Option<Validator>,
}

impl SchemaShape {
    /// Without a schema, or with one that is not valid, all parameters are taken for legal.
    pub(crate) fn new(schema: Option<&Value>) -> SchemaShape {
        let schema = schema.cloned().unwrap_or_else(|| json!({}));
        let validator = jsonschema::validator_for(&schema).ok();
        SchemaShape { schema, validator }
    }

    pub(crate) fn is_legal(&self, parameters: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(parameters))
    }

    /// The least that the schema wants.
    pub(crate) fn legal(&self) -> Value {
        match self.make(&self.schema, 0) {
            Value::Object(made) => Value::Object(made),
            _ => json!({}),
        }
    }

    /// `base` with one property that `current` does not have, or has with another value.
    pub(crate) fn changed(&self, base: &Value, current: &Value) -> Option<Value> {
        self.properties().find_map(|(name, schema)| {
            let values = self.candidates(schema);
            // A default that is written out may be no change at all to the broker.
            let known = [current.get(name), schema.get("default")];
            let mut changes = values.iter().filter(|value| !known.contains(&Some(*value)));
            changes.find_map(|value| Some(with(base, name, value.clone())).filter(|made| self.is_legal(made)))
        })
    }

    /// `base` spoiled in one way; None where the schema forbids nothing of that kind.
    pub(crate) fn illegal(&self, base: &Value, fault: ParameterFault) -> Option<Value> {
        let spoiled = |(name, schema): (&String, &Value)| {
            let value = match fault {
                ParameterFault::WrongType => json!([[{ "conformance": null }]]),
                ParameterFault::NotInEnum => {
                    schema.get("enum")?;
                    json!("not-one-of-these")
                }
                ParameterFault::OutOfRange => {
                    match (schema["maximum"].as_f64(), schema["minimum"].as_f64()) {
                        (Some(most), _) => json!(most + 1.0),
                        (None, least) => json!(least? - 1.0),
                    }
                }
                ParameterFault::TooLong => {
                    json!("x".repeat(usize::try_from(schema["maxLength"].as_u64()?).ok()? + 1))
                }
                ParameterFault::Missing => return Some(without(base, name)),
                ParameterFault::Unknown => return Some(with(base, "conformanceDoesNotKnow", json!(true))),
            };
            Some(with(base, name, value))
        };
        self.properties().filter_map(spoiled).find(|made| !self.is_legal(made))
    }

    fn properties(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.schema["properties"].as_object().into_iter().flatten()
    }

    fn make(&self, schema: &Value, depth: usize) -> Value {
        if depth == DEPTH_MAX {
            return Value::Null;
        }
        let schema = self.resolved(schema);
        if schema["type"] == "object"
            || schema.get("properties").is_some()
            || schema.get("required").is_some()
        {
            return Value::Object(self.make_object(schema, depth));
        }
        self.candidates(schema).into_iter().next().unwrap_or_else(|| match schema["type"].as_str() {
            Some("array") => {
                let count = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap_or(0).min(10);
                Value::Array(vec![self.make(&schema["items"], depth + 1); count])
            }
            _ => schema["oneOf"][0]
                .as_object()
                .or(schema["anyOf"][0].as_object())
                .map_or(Value::Null, |branch| self.make(&Value::Object(branch.clone()), depth + 1)),
        })
    }

    fn make_object(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut made: Map<String, Value> = required
            .map(|name| (name.to_owned(), self.make(&schema["properties"][name], depth + 1)))
            .collect();
        let first = |key: &str| schema[key].get(0).cloned();
        let all = schema["allOf"].as_array().cloned().unwrap_or_default();
        for part in all.into_iter().chain(first("oneOf")).chain(first("anyOf")) {
            if let Value::Object(more) = self.make(&part, depth + 1) {
                for (name, value) in more {
                    made.entry(name).or_insert(value);
                }
            }
        }
        made
    }

    /// Legal values for one property that is not an object or array, the most likely one first.
    fn candidates(&self, schema: &Value) -> Vec<Value> {
        let schema = self.resolved(schema);
        let mut values: Vec<Value> =
            ["const", "default"].iter().filter_map(|key| schema.get(*key)).cloned().collect();
        for list in ["enum", "examples"] {
            values.extend(schema[list].as_array().into_iter().flatten().cloned());
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        match kind {
            Some("string") => values.extend(strings(schema)),
            Some("integer" | "number") => values.extend(numbers(schema)),
            Some("boolean") => values.extend([json!(false), json!(true)]),
            _ => {}
        }
        let judge = jsonschema::validator_for(schema).ok();
        values.retain(|value| judge.as_ref().is_none_or(|judge| judge.is_valid(value)));
        values
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let pointer = schema["$ref"].as_str().and_then(|link| link.strip_prefix('#'));
        pointer.and_then(|pointer| self.schema.pointer(pointer)).unwrap_or(schema)
    }
}

/// How parameters can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterFault {
    WrongType,
    NotInEnum,
    OutOfRange,
    TooLong,
    Missing,
    Unknown,
}

fn strings(schema: &Value) -> impl Iterator<Item = Value> {
    let length =
        schema["minLength"].as_u64().and_then(|least| usize::try_from(least).ok()).unwrap_or(0).min(10_000);
    STRINGS.iter().map(|text| json!(text)).chain([json!("c".repeat(length))])
}

fn numbers(schema: &Value) -> impl Iterator<Item = Value> {
    let bounds = ["minimum", "maximum"].map(|key| schema[key].clone());
    let above = schema["minimum"].as_i64().map(|least| json!(least + 1));
    let multiple = schema["multipleOf"].clone();
    bounds.into_iter().chain(above).chain([multiple]).chain((0..=5).map(|number| json!(number)))
}

fn with(base: &Value, name: &str, value: Value) -> Value {
    let mut made = base.clone();
    made[name] = value;
    made
}

fn without(base: &Value, name: &str) -> Value {
    let mut made = base.clone();
    if let Some(object) = made.as_object_mut() {
        object.remove(name);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> SchemaShape {
        SchemaShape::new(Some(&json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "additionalProperties": false,
            "required": ["name", "region", "network", "zones"],
            "properties": {
                "name": { "type": "string", "pattern": "^[a-z]{3,20}$", "maxLength": 20 },
                "region": { "type": "string", "enum": ["eu-1", "us-1"] },
                "nodes": { "type": "integer", "minimum": 3, "maximum": 80 },
                "network": { "$ref": "#/definitions/network" },
                "zones": { "type": "array", "minItems": 2, "items": { "type": "string" } }
            },
            "definitions": {
                "network": {
                    "type": "object",
                    "required": ["cidr"],
                    "properties": { "cidr": { "type": "string", "pattern": "^[0-9.]+/[0-9]+$" } }
                }
            }
        })))
    }

    #[test]
    fn what_it_makes_is_legal_and_small() {
        let expect = json!({
            "name": "conformance",
            "region": "eu-1",
            "network": { "cidr": "10.250.0.0/22" },
            "zones": ["conformance", "conformance"]
        });
        assert_eq!(cluster().legal(), expect);
        assert!(cluster().is_legal(&expect));
    }

    #[test]
    fn a_change_is_legal_too_and_differs() {
        let (shape, legal) = (cluster(), cluster().legal());
        let changed = shape.changed(&legal, &legal).unwrap();
        assert!(changed != legal && shape.is_legal(&changed), "{changed}");
    }

    #[test]
    fn each_fault_is_really_one() {
        use ParameterFault::{Missing, NotInEnum, OutOfRange, TooLong, Unknown, WrongType};
        let (shape, legal) = (cluster(), cluster().legal());
        for fault in [WrongType, NotInEnum, OutOfRange, TooLong, Missing, Unknown] {
            let made = shape.illegal(&legal, fault).unwrap_or_else(|| panic!("no {fault:?}"));
            assert!(!shape.is_legal(&made), "{fault:?}: {made}");
        }
    }

    #[test]
    fn a_schema_that_forbids_nothing_has_no_faults() {
        let shape = SchemaShape::new(None);
        assert_eq!(shape.legal(), json!({}));
        assert_eq!(shape.illegal(&json!({}), ParameterFault::Missing), None);
        assert_eq!(shape.changed(&json!({}), &json!({})), None);
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let shape =
            SchemaShape::new(Some(&json!({ "required": ["a"], "properties": { "a": { "$ref": "#" } } })));
        assert!(shape.legal().is_object());
    }
}
