//! The schemas of a plan: they must be readable by a platform that has nothing but the catalog.

use serde_json::Value;

use crate::checker::Checker;
use crate::shape::SchemaShape;

const SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// Drafts below 4 have no `$schema` of these.
const DRAFTS: [&str; 5] = ["draft-04/", "draft-06/", "draft-07/", "draft/2019-09/", "draft/2020-12/"];

pub(crate) fn run(checker: &Checker) {
    for (name, path) in [
        ("create", "service_instance/create"),
        ("update", "service_instance/update"),
        ("bind", "service_binding/create"),
    ] {
        match checker.schema(path) {
            Some(schema) => judge(checker, name, schema),
            None => checker.skip(format!("schema.{name}"), "1.3", "the schema is sound", "the plan has none"),
        }
    }
    let legal = checker.shape().is_legal(&checker.parameters);
    let fault = (!legal)
        .then(|| format!("{} does not fit the schema; give parameters in the options", checker.parameters));
    checker.check("schema.parameters", "1.3", "there are parameters that fit the schema", fault);
}

fn judge(checker: &Checker, name: &str, schema: &Value) {
    let check = |rule: &str, title: &str, fault: Option<String>| {
        checker.check(format!("schema.{name}.{rule}"), "1.3", format!("{name}: {title}"), fault);
    };
    let draft = schema["$schema"].as_str().unwrap_or_default();
    let fault = (!DRAFTS.iter().any(|known| draft.contains(known)))
        .then(|| format!("$schema is {}", schema["$schema"]));
    check("draft", "the schema names a draft from 4 on", fault);
    let size = schema.to_string().len();
    check("size", "the schema is not too large", (size > SCHEMA_BYTES_MAX).then(|| format!("{size} bytes")));
    check(
        "refs",
        "the schema refers to nothing outside",
        remote(schema).map(|link| format!("$ref is {link}")),
    );
    let unsound = jsonschema::validator_for(schema).err().map(|error| error.to_string());
    check("sound", "the schema is a valid one", unsound);
    let shape = SchemaShape::new(Some(schema));
    let silly = shape.is_legal(&Value::from("text")).then(|| "a string fits it too".to_owned());
    check("object", "the schema wants an object", silly);
}

fn remote(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match value.as_str() {
            Some(link) if name == "$ref" && !link.starts_with('#') => Some(link),
            _ => remote(value),
        }),
        Value::Array(items) => items.iter().find_map(remote),
        _ => None,
    }
}
