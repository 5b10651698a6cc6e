//! The JSON Schemas of the params of all workflows of the program. That they fit what the workflows take is checked in
//! `testing::workflow_test`, with the params of each workflow test.

use serde_json::{Value, json};

fn property<'a>(schema: &'a Value, name: &str) -> &'a Value {
    &schema["properties"][name]
}

#[test]
fn every_workflow_describes_its_params() {
    let workflows = provision_engine::app().without_database().workflows();
    assert!(workflows.len() >= 14, "{} workflows", workflows.len());
    for info in workflows {
        let (name, schema) = (&info.workflow, &info.schema);
        assert_eq!(schema["type"], json!("object"), "{name}");
        jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!schema.to_string().contains("$ref"), "{name}: {schema}");
        let properties =
            schema["properties"].as_object().unwrap_or_else(|| panic!("{name} has no properties"));
        assert!(!properties.is_empty(), "{name}");
        for (param, property) in properties {
            let has = |key: &str| property.get(key).is_some();
            assert!(has("description") || param == "region", "{name}: {param} has no description");
            let is_typed = ["type", "enum", "oneOf", "allOf"].into_iter().any(has);
            assert!(is_typed, "{name}: {param} has no type: {property}");
        }
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{name}: {required}");
        }
    }
}

#[test]
fn enums_and_secrets_are_marked() {
    let engine = provision_engine::app().without_database();
    let launch = engine.workflow("launch").unwrap().schema;
    assert_eq!(property(&launch, "provider")["enum"], json!(["noop", "aws", "azure", "gcp"]));
    assert_eq!(property(&launch, "identity")["writeOnly"], json!(true));
    assert_eq!(property(&launch, "identity")["format"], json!("password"));
    let required: Vec<&str> =
        launch["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(["launch", "requester", "provider", "image", "profile"].iter().all(|it| required.contains(it)));
    let update = engine.workflow("runtime.update").unwrap().schema;
    assert_eq!(property(&update, "parameters")["writeOnly"], json!(true));
    assert_eq!(property(&update, "context")["writeOnly"], json!(true));
}
