//! The description of the API is the API.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::world::world;

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/operations.json");

#[test]
fn the_description_is_the_one_in_the_docs() {
    let text = format!("{}\n", crate::world::openapi().to_pretty_json().unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(Path::new(SNAPSHOT).parent().unwrap()).unwrap();
        std::fs::write(SNAPSHOT, &text).unwrap();
    }
    let saved = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(
        saved == text,
        "the API changed: look at the difference after `UPDATE=1 cargo test -p provision-engine --test api openapi`, \
         and keep docs/api/operations.json if it is meant"
    );
}

#[tokio::test]
async fn the_description_is_served() {
    let world = world().await;
    let served = world.call("GET", "/openapi.json").send().await;
    assert_eq!(served.json, serde_json::to_value(crate::world::openapi()).unwrap());
}

#[test]
fn the_routes_are_exactly_those_in_the_table_of_rights() {
    let api = serde_json::to_value(crate::world::openapi()).unwrap();
    let mut described = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            described.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let table: BTreeSet<String> =
        crate::world::all_rights().iter().map(|right| format!("{} {}", right.method, right.path)).collect();
    assert_eq!(described, table);
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_a_name_of_its_own() {
    let api = serde_json::to_value(crate::world::openapi()).unwrap();
    let mut references = BTreeSet::new();
    collect(&api, &mut references);
    assert!(references.contains("#/components/schemas/Problem"));
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(api.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    let mut names = BTreeSet::new();
    for item in api["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(names.insert(operation["operationId"].to_string()), "{}", operation["operationId"]);
            assert!(operation["summary"].is_string() && operation["tags"][0].is_string(), "{operation:#}");
        }
    }
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.insert(reference.clone());
            }
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}
