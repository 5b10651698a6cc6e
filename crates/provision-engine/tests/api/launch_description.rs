//! What the launch API says about itself, and about what can be launched.

use std::collections::BTreeSet;
use std::path::Path;

use ::launch::api::rights::RIGHTS;
use engine::Role;
use serde_json::json;

use crate::launch_world::{launch_world, launch_world_with};
use crate::world::settings;

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/launch.json");

#[test]
fn the_description_is_the_one_in_the_docs() {
    let text = format!("{}\n", ::launch::api::openapi().to_pretty_json().unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(Path::new(SNAPSHOT).parent().unwrap()).unwrap();
        std::fs::write(SNAPSHOT, &text).unwrap();
    }
    let saved = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(
        saved == text,
        "the API changed: look at the difference after `UPDATE=1 cargo test -p provision-engine --test api launch_description`, \
         and keep docs/api/launch.json if it is meant"
    );
}

#[test]
fn the_routes_are_exactly_those_in_the_table_of_rights() {
    let api = serde_json::to_value(::launch::api::openapi()).unwrap();
    let mut described = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            described.insert(format!("{} {path}", method.to_uppercase()));
            assert!(names.insert(operation["operationId"].to_string()), "{}", operation["operationId"]);
            assert!(operation["summary"].is_string() && operation["tags"][0].is_string(), "{operation:#}");
        }
    }
    let table: BTreeSet<String> =
        RIGHTS.iter().map(|right| format!("{} {}", right.method, right.path)).collect();
    assert_eq!(described, table);
}

#[tokio::test]
async fn the_description_is_served_with_the_name_of_its_version() {
    let world = launch_world().await;
    let served = world.launch_request("GET", "/openapi.json").send().await.is_ok();
    assert_eq!(served.json, serde_json::to_value(::launch::api::openapi()).unwrap());
    assert_eq!(served.header("cache-control"), "max-age=1800");
    let etag = served.header("etag");
    let again =
        |name: &str| world.launch_request("GET", "/openapi.json").header("if-none-match", name).send();
    let kept = again(etag).await;
    assert_eq!((kept.status, kept.text.as_str(), kept.header("etag")), (304, "", etag));
    assert_eq!(again(&format!("\"x\", W/{etag}")).await.status, 304);
    let inside = format!("\"x{}x\"", etag.trim_matches('"'));
    assert_eq!(again(&inside).await.status, 200, "it is only part of the name");
}

#[tokio::test]
async fn the_portal_of_azure_may_read_its_template_from_another_site() {
    let world = launch_world().await;
    for method in ["GET", "OPTIONS"] {
        let reply = world
            .launch_request(method, "/azure_offering_template")
            .header("origin", "https://portal")
            .send()
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.header("access-control-allow-origin"), "*");
        assert_eq!(reply.header("access-control-allow-methods"), "GET, OPTIONS");
    }
    let packed = world
        .launch_request("GET", "/azure_offering_template")
        .header("accept-encoding", "gzip")
        .send()
        .await;
    assert_eq!((packed.header("cache-control"), packed.header("content-encoding")), ("no-transform", ""));
    let definition = &packed.json["resources"][0]["properties"];
    assert_eq!(definition["managedByTenantId"], "t-1");
    assert_eq!(definition["authorizations"][0]["principalId"], "p-1");
    let description = async |query: &str| {
        let path = format!("/azure_offering_template{query}");
        let reply = world.launch_request("GET", &path).send().await;
        reply.json["resources"][0]["properties"]["description"].as_str().map(str::to_owned)
    };
    // The client of Azure looks for this word, because all organisations delegate to the same principal.
    let of_server = description("").await.unwrap();
    assert!(of_server.ends_with(" provision-engine:000013"), "{of_server}");
    let of_other = description("?organisation=acme-1").await.unwrap();
    assert!(of_other.ends_with(" provision-engine:acme-1"), "{of_other}");
    assert_eq!(description("?organisation=a%20b").await, None);
    let without = launch_world_with(settings(), |api_parts| api_parts.azure_offering = None).await;
    without.launch_request("GET", "/azure_offering_template").send().await.is(404, "not_found");
}

#[tokio::test]
async fn instance_types_are_listed_by_region_searched_and_kept_by_callers() {
    let world = launch_world().await;
    let list = async |query: &str| world.get(&format!("/instance_types/aws?{query}")).await.is_ok();
    let all = list("region=us-east-1").await;
    assert_eq!(all.header("cache-control"), "max-age=14400");
    let types = all.json["data"].as_array().unwrap();
    let small = types.iter().find(|one| one["name"] == "t3.small").unwrap();
    let expected = json!({
        "name": "t3.small", "vcpus": 2, "cores": 1, "memory_mib": 2048, "storage_gb": 0,
        "supported": true, "architecture": "x86_64",
    });
    assert_eq!(*small, expected);
    let count = async |query: &str| list(query).await.json["data"].as_array().unwrap().len();
    let (good, bad) =
        (count("region=us-east-1&supported=true").await, count("region=us-east-1&supported=false").await);
    assert!(good > 0 && bad > 0 && good + bad == types.len(), "{good} and {bad} of {}", types.len());
    let found = list("region=us-east-1&search=vcpus%20%3D%202%20and%20memory%20%3C%204000").await;
    for one in found.json["data"].as_array().unwrap() {
        assert!(one["vcpus"] == 2 && one["memory_mib"].as_u64().unwrap() < 4000, "{one}");
    }
    let kept = |etag: String| {
        let get = world
            .launch_request("GET", "/instance_types/aws?region=us-east-1")
            .bearer(world.token(Role::Reader));
        get.header("if-none-match", etag).send()
    };
    assert_eq!(kept(all.header("etag").to_owned()).await.status, 304);
    assert_eq!(kept(found.header("etag").to_owned()).await.status, 200, "that was another list");
    for (path, field) in [
        ("/instance_types/ibm?region=x", "provider"),
        ("/instance_types/noop?region=x", "provider"),
        ("/instance_types/aws", "region"),
        ("/instance_types/aws?region=mars-1", "region"),
        ("/instance_types/azure?region=eastus&zone=9", "zone"),
        ("/instance_types/aws?region=us-east-1&supported=maybe", "supported"),
        ("/instance_types/aws?region=us-east-1&search=vcpus%20%3D", "search"),
        ("/instance_types/aws?region=us-east-1&region=us-east-2", "region"),
    ] {
        assert_eq!(world.get(path).await.is(400, "invalid_parameter").json["field"], field, "{path}");
    }
    assert!(
        !world.get("/instance_types/azure?region=eastus&zone=1").await.is_ok().json["data"][0]["azure"]
            .is_null()
    );
}

#[tokio::test]
async fn services_that_launches_need_are_ready_or_not() {
    let world = launch_world().await;
    world.engine.start(None).await.unwrap();
    world.get("/ready").await.is_ok();
    world.get("/ready/rbac").await.is_ok();
    for name in ["ib", "image_builder", "imagebuilder"] {
        world.get(&format!("/ready/{name}")).await.is(503, "unavailable");
    }
    let unknown = world.get("/ready/sources").await.is(503, "unavailable");
    assert!(unknown.json["error"].as_str().unwrap().contains("configured"), "{}", unknown.text);
    assert_eq!(world.get("/ready/weather").await.is(400, "invalid_parameter").json["field"], "service");
}

#[tokio::test]
async fn a_feature_is_on_unless_someone_turned_it_off() {
    let world = launch_world().await;
    world.get("/feature/provisioning.launch").await.is_ok();
    world.get("/feature/provisioning.decommissioning").await.is(401, "feature_off");
    world.get("/feature/sources.x").await.is(400, "invalid_parameter");
    let head = world
        .launch_request("HEAD", "/feature/provisioning.decommissioning")
        .bearer(world.token(Role::Reader));
    assert_eq!(head.send().await.status, 401);
}
