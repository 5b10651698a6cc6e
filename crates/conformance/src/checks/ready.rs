//! The row of the table of states for an instance that is ready: the same again, something else, and a look.

use serde_json::{Value, json};

use crate::checker::{Checker, new_id};
use crate::report::CheckOutcome;
use crate::shape::SchemaShape;

pub(crate) async fn run(checker: &Checker, id: &str) {
    same(checker, id).await;
    different(checker, id).await;
    fetch(checker, id).await;
    last_operation(checker, id).await;
}

async fn same(checker: &Checker, id: &str) {
    for (kind, changes) in [
        ("same", vec![]),
        ("organization_name", vec![("/context/organization_name", json!("renamed"))]),
        ("space_name", vec![("/context/space_name", json!("renamed"))]),
        ("instance_name", vec![("/context/instance_name", json!("renamed"))]),
        ("annotations", vec![("/context/instance_annotations", json!({ "conformance.example.com/a": "b" }))]),
        ("maintenance_info.empty", vec![("/maintenance_info", json!({}))]),
        ("unknown-field", vec![("/conformance", json!([1]))]),
    ] {
        let answer = checker.send(checker.put_with(id, &checker.body_with(&changes))).await;
        let title = format!("a PUT that asks for the same is answered with 200: {kind}");
        checker.check(format!("ready.put.{kind}"), "1.4", title, answer.is(&[200]).without("credentials"));
    }
    let answer = checker.send(checker.put(id).raw(Some("application/json"), reversed(&checker.body()))).await;
    checker.check("ready.put.key-order", "1.4", "the order of keys makes no difference", answer.is(&[200]));
}

/// The same JSON with the keys of every object in the opposite order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .rev()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), reversed(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(",\n"))
        }
        other => other.to_string(),
    }
}

async fn different(checker: &Checker, id: &str) {
    let other_plan = checker.other_plan().map(|plan| {
        let schema = plan.pointer("/schemas/service_instance/create/parameters");
        let name = plan["name"].as_str().unwrap_or_default();
        let given = checker.options.parameters.get(name).cloned();
        let parameters = given.unwrap_or_else(|| SchemaShape::new(schema).legal());
        vec![("/plan_id", plan["id"].clone()), ("/parameters", parameters)]
    });
    let other_parameters = checker.other_parameters().map(|other| vec![("/parameters", other)]);
    for (kind, changes) in [
        ("plan", other_plan),
        ("parameters", other_parameters),
        ("organization", Some(vec![("/organization_guid", json!(new_id()))])),
        ("space", Some(vec![("/space_guid", json!(new_id()))])),
        ("context.organization", Some(vec![("/context/organization_guid", json!(new_id()))])),
        ("context.space", Some(vec![("/context/space_guid", json!(new_id()))])),
        ("context.platform", Some(vec![("/context/platform", json!("conformance"))])),
        ("context.namespace", Some(vec![("/context/namespace", json!("conformance"))])),
        ("context.clusterid", Some(vec![("/context/clusterid", json!("conformance"))])),
    ] {
        let title = format!("a PUT that asks for something else conflicts: {kind}");
        let check = format!("ready.put.other.{kind}");
        match changes {
            Some(changes) => {
                let answer = checker.send(checker.put_with(id, &checker.body_with(&changes))).await;
                checker.check(check, "1.4", title, answer.is(&[409]).with_description());
            }
            None => checker.skip(check, "1.4", &title, "the catalog gives no choice"),
        }
    }
}

async fn fetch(checker: &Checker, id: &str) {
    if !checker.is_retrievable() {
        checker.skip("ready.fetch", "1.2", "a ready instance can be fetched", "the offering does not say so");
        return;
    }
    let answer = checker.send(checker.fetch(id)).await;
    for field in ["service_id", "plan_id"] {
        let expect = &checker.ids()[field];
        let title = format!("a fetched instance has its {field}");
        checker.check(format!("ready.fetch.{field}"), "1.2", title, answer.is(&[200]).with(field, expect));
    }
    let told = answer.json.get("parameters").is_none_or(|told| contains(told, &checker.parameters));
    let verdict = answer.is(&[200]).and(told, || format!("expected the parameters {}", checker.parameters));
    checker.check("ready.fetch.parameters", "1.2", "a fetched instance has its parameters", verdict);
    checker.check(
        "ready.fetch.credentials",
        "1.2",
        "and no credentials",
        answer.is(&[200]).without("credentials"),
    );
    let info = &checker.plan["maintenance_info"]["version"];
    let told = answer.json.get("maintenance_info").is_none_or(|told| told["version"] == *info);
    let verdict = answer.is(&[200]).and(told, || format!("expected the maintenance version {info}"));
    checker.check("ready.fetch.maintenance_info", "1.2", "and the maintenance version of its plan", verdict);
    let hinted = checker.send(checker.fetch_with_query(id)).await;
    let verdict =
        hinted.is(&[200]).and(hinted.json == answer.json, || format!("without hints it was {}", answer.text));
    checker.check("ready.fetch.hints", "1.2", "hints make no difference", verdict);
}

/// A broker may add what it filled in by itself.
fn contains(told: &Value, asked: &Value) -> bool {
    match asked {
        Value::Object(fields) => {
            fields.iter().all(|(key, value)| told.get(key).is_some_and(|told| contains(told, value)))
        }
        other => told == other,
    }
}

async fn last_operation(checker: &Checker, id: &str) {
    let plain = || checker.last_operation(id);
    for (kind, call) in [
        ("plain", plain()),
        ("hints", checker.last_operation_with_query(id)),
        ("unknown-operation", plain().query("operation", "conformance-does-not-know")),
        ("odd-operation", plain().query("operation", "ö/?&=%00 🦀")),
        ("other-query", plain().query("conformance", "unknown")),
    ] {
        let answer = checker.send(call).await;
        let verdict = answer.is(&[200]).with("state", &json!("succeeded")).with_description();
        checker.check(
            format!("ready.last_operation.{kind}"),
            "1.2",
            format!("the last operation succeeded: {kind}"),
            verdict,
        );
    }
    foreign_operation(checker, id).await;
}

/// The name of an operation of another instance says nothing about this one.
async fn foreign_operation(checker: &Checker, id: &str) {
    let (other, title) = (&new_id(), "the operation of another instance is not told as one's own");
    let began = checker.send(checker.put(other)).await;
    let outcome = match began.operation() {
        Some(operation) => {
            let answer = checker.send(checker.last_operation(id).query("operation", operation)).await;
            answer.is(&[200]).with("state", &json!("succeeded")).into()
        }
        None if began.status == 201 => CheckOutcome::Skipped("the broker needs no operations".to_owned()),
        None => began.is(&[202]).with_operation_when_async().into(),
    };
    checker.check("ready.last_operation.foreign", "1.5", title, outcome);
    checker.settle(checker.last_operation(other)).await;
}
