//! The catalog, and the description of the broker.

use std::path::Path;

use ::runtimes::api::osb::OsbSettings;
use serde_json::{Value, json};

use crate::osb_world::{broker, broker_with, settings};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/osb.json");

#[tokio::test]
async fn the_catalog_has_what_platforms_need() {
    let world = broker().await;
    let catalog = world.ask("GET", "/v2/catalog").send().await;
    let service = &catalog.json["services"][0];
    for (field, value) in [
        ("id", json!("s-1")),
        ("bindable", json!(true)),
        ("plan_updateable", json!(true)),
        ("instances_retrievable", json!(true)),
        ("bindings_retrievable", json!(true)),
        ("allow_context_updates", json!(true)),
    ] {
        assert_eq!(service[field], value, "{field}");
    }
    let plans = service["plans"].as_array().unwrap();
    let names: Vec<&Value> = plans.iter().map(|plan| &plan["name"]).collect();
    assert_eq!(names, ["fixed", "large", "small", "trial"]);
    let small = &plans[2];
    assert_eq!(small["maintenance_info"], json!({"version": "1.2.3", "description": "d"}));
    assert_eq!((&small["plan_updateable"], &plans[1]["plan_updateable"]), (&json!(true), &json!(false)));
    assert_eq!((&small["bindable"], &plans[3]["bindable"]), (&json!(true), &json!(false)));
    assert_eq!(small["maximum_polling_duration"], 108_000);
    assert_eq!(small["binding_rotatable"], true);
    for pointer in ["service_instance/create", "service_instance/update", "service_binding/create"] {
        let schema = small.pointer(&format!("/schemas/{pointer}/parameters")).unwrap();
        assert!(schema["$schema"].is_string(), "{pointer}");
    }
    assert!(plans[3]["schemas"].get("service_binding").is_none());
    assert!(plans[0].get("maintenance_info").is_none());
}

#[tokio::test]
async fn a_catalog_that_the_platform_knows_is_not_sent_again() {
    let world = broker().await;
    let first = world.ask("GET", "/v2/catalog").send().await;
    let tag = first.header("etag").to_owned();
    let again = world.ask("GET", "/v2/catalog").header("if-none-match", &tag).send().await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", tag.as_str()));
    let other = world.ask("GET", "/v2/catalog").header("if-none-match", "\"other\"").send().await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn the_catalog_is_the_same_below_all_prefixes() {
    let world = broker().await;
    let first = world.ask("GET", "/v2/catalog").send().await;
    for prefix in ["/oauth", "/oauth/cf-eu10"] {
        assert_eq!(world.ask("GET", &format!("{prefix}/v2/catalog")).send().await.json, first.json);
    }
    let old = broker_with(settings(OsbSettings { catalog_level: (2, 12), ..OsbSettings::default() })).await;
    let old = old.ask("GET", "/v2/catalog").send().await;
    assert!(!old.text.contains("retrievable") && !old.text.contains("$schema"), "{}", old.text);
}

#[tokio::test]
async fn the_region_of_the_platform_is_kept() {
    let world = broker().await;
    let path = "/oauth/cf-eu10/v2/service_instances/a?accepts_incomplete=true";
    let body = crate::osb_world::wanted(crate::osb_world::SMALL);
    assert_eq!(world.ask("PUT", path).json(&body).send().await.status, 202);
    let row = world.engine.resource("runtime:a").await.unwrap().unwrap();
    let record: Value = serde_json::from_str(&row.record).unwrap();
    assert_eq!((&record["platform_region"], &record["region"]), (&json!("cf-eu10"), &json!("north")));
    assert_eq!(
        (&record["account"], &record["subaccount"], &record["user"]),
        (&json!("ga"), &json!("sa"), &json!("u"))
    );
    assert_eq!(row.tenant, "ga");
    assert!(record["shoot"].as_str().unwrap().starts_with("c-"));
    assert_eq!(world.put("a", &body).await.status / 100, 2, "the path says nothing about the request");
}

#[test]
fn the_description_is_the_one_in_the_docs() {
    let text = format!("{}\n", ::runtimes::api::osb::openapi().to_pretty_json().unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(Path::new(SNAPSHOT).parent().unwrap()).unwrap();
        std::fs::write(SNAPSHOT, &text).unwrap();
    }
    let saved = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(
        saved == text,
        "the API changed: look at the difference after `UPDATE=1 cargo test -p provision-engine --test api osb_catalog`, \
         and keep docs/api/osb.json if it is meant"
    );
}
