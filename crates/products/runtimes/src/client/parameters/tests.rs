//! Schemas as brokers write them, and as they should not.

use serde_json::json;

use super::*;

fn plan(schema: &Value) -> ServicePlan {
    serde_json::from_value(json!({
        "id": "p", "name": "n", "schemas": {"service_instance": {"create": {"parameters": schema}}},
    }))
    .unwrap()
}

fn parameters() -> Parameters {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "definitions": {"zone": {"type": "string", "enum": ["a", "b"]}, "loop": {"$ref": "#/definitions/loop"}},
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 30, "pattern": "^[a-z]+$"},
            "nodes": {"type": "integer", "minimum": 3, "maximum": 300, "default": 3, "description": "How many"},
            "ratio": {"type": ["number", "null"], "minimum": 0.5},
            "spot": {"type": "boolean", "default": false},
            "zones": {"type": "array", "items": {"$ref": "#/definitions/zone"}},
            "oidc": {"oneOf": [{"type": "object"}, {"type": "array"}]},
            "channel": {"enum": ["fast", "regular"]},
            "round": {"$ref": "#/definitions/loop"},
            "far": {"$ref": "https://elsewhere.example/x.json"},
        },
    });
    Parameters::of(&plan(&schema), SchemaAction::Create).unwrap()
}

#[test]
fn a_schema_becomes_a_table() {
    let parameters = parameters();
    let row = |name: &str| {
        let it = parameters.get(name).unwrap();
        (it.kind(), it.required, it.default.as_ref().map(plain), it.choice())
    };
    let some = |text: &str| Some(text.to_owned());
    for (name, kind, required, default, choice) in [
        ("name", "string", true, None, some("1 to 30 characters; matching ^[a-z]+$")),
        ("nodes", "integer", false, some("3"), some("3 to 300")),
        ("ratio", "number or null", false, None, some("at least 0.5")),
        ("spot", "boolean", false, some("false"), None),
        ("zones", "array of string", false, None, some("a, b")),
        ("oidc", "object or array", false, None, None),
        ("channel", "string", false, None, some("fast, regular")),
        ("round", "any", false, None, None),
        ("far", "any", false, None, None),
    ] {
        assert_eq!(row(name), (kind.to_owned(), required, default, choice), "{name}");
    }
    assert_eq!(parameters.get("nodes").unwrap().description.as_deref(), Some("How many"));
}

#[test]
fn a_value_gets_the_type_that_the_plan_takes() {
    let parameters = parameters();
    for (name, text, expected) in [
        ("name", "7", Some(json!("7"))),
        ("name", "true", Some(json!("true"))),
        ("name", "\"x\"", Some(json!("\"x\""))),
        ("name", "", Some(json!(""))),
        ("nodes", "7", Some(json!(7))),
        ("nodes", "7.5", None),
        ("nodes", "many", None),
        ("ratio", "7", Some(json!(7))),
        ("ratio", "null", Some(Value::Null)),
        ("spot", "true", Some(json!(true))),
        ("spot", "yes", None),
        ("zones", r#"["a"]"#, Some(json!(["a"]))),
        ("zones", "a", None),
        ("oidc", r#"{"a": 1}"#, Some(json!({"a": 1}))),
        ("far", "7", Some(json!(7))),
        ("far", "text", Some(json!("text"))),
    ] {
        assert_eq!(parameters.get(name).unwrap().parse(text).ok(), expected, "{name}={text}");
    }
    let error = parameters.get("zones").unwrap().parse("a").unwrap_err().to_string();
    assert_eq!(error, "--param zones: expected array of string, got \"a\"");
}

#[test]
fn an_unknown_name_is_told_with_the_nearest_known_one() {
    let parameters = parameters();
    let unknown = |given: Value| parameters.unknown(given.as_object().unwrap());
    assert_eq!(unknown(json!({"name": 1, "nodes": 2})), None);
    let said = unknown(json!({"Nodse": 1, "colour": 2, "name": 3})).unwrap();
    assert!(said.contains("`Nodse` (did you mean `nodes`?), `colour`; it has "), "{said}");
    assert!(parameters.is_closed);
}

#[test]
fn only_a_schema_that_says_so_is_closed_and_no_schema_is_none() {
    let of = |schema: Value| Parameters::of(&plan(&schema), SchemaAction::Create);
    assert!(!of(json!({"properties": {"a": {}}})).unwrap().is_closed);
    let pattern = json!({"properties": {}, "additionalProperties": false, "patternProperties": {"^x": {}}});
    assert!(!of(pattern).unwrap().is_closed);
    for nonsense in [json!(true), json!({}), json!({"properties": []}), json!(null), json!("x")] {
        assert!(of(nonsense.clone()).is_none(), "{nonsense}");
    }
    assert!(Parameters::of(&plan(&json!({"properties": {}})), SchemaAction::Bind).is_none());
    let odd = of(json!({"properties": {"a": 7, "b": {"type": 7, "enum": 7}}, "required": "a"})).unwrap();
    assert!(odd.list.iter().all(|it| it.kind() == "any" && !it.required && it.choice().is_none()));
}

#[test]
fn only_few_letters_are_a_typing_error() {
    for (name, expected) in [
        ("regin", Some("region")),
        ("REGION", Some("region")),
        ("autoscalermin", Some("autoScalerMin")),
        ("x", None),
        ("colour", None),
    ] {
        assert_eq!(nearest(name, ["region", "autoScalerMin"].into_iter()), expected, "{name}");
    }
}
