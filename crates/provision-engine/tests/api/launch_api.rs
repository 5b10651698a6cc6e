//! What the launch API answers about keys and sources, and how it refuses.

use std::time::Duration;

use ::launch::api::BASE;
use axum::body::Body;
use engine::Role;
use futures_util::stream;
use serde_json::{Value, json};
use server::body_within;

use crate::launch_world::{LaunchFixture, launch_world, launch_world_with};
use crate::shaky_store::Mood;
use crate::world::settings;

/// The private halves of these were never saved.
const KEYS: [&str; 3] = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPEx6w7/lJ+pCpC+1KebnLCSkUBdxig0C67vVby4Vi6 ann@example.com",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBdiBA1ACDYl2jmJNHBCGV3uVtJfCd7GF1njs9LAn4rf",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMjzWYfLPDe7q63lZ2LjlRmt8OiV1G74gsqRnX3edSOt",
];

async fn keep(world: &LaunchFixture, name: &str, body: &str) -> i64 {
    let made = world.post("/pubkeys", &json!({"name": name, "body": body})).await.is_ok();
    made.json["id"].as_i64().unwrap()
}

#[tokio::test]
async fn an_answer_carries_what_callers_follow_a_request_by() {
    let world = launch_world().await;
    let get = |path: &str| world.launch_request("GET", path).bearer(world.token(Role::Reader));
    let reply = get("/pubkeys").header("x-correlation-id", "c-1").send().await.is_ok();
    assert_eq!(reply.header("x-correlation-id"), "c-1");
    assert_eq!(get("/pubkeys").send().await.header("x-correlation-id"), "");
    let odd = get("/pubkeys").header("x-correlation-id", "a\"b<c>").send().await;
    assert_eq!(odd.header("x-correlation-id"), "");
    let missing = get("/pubkeys/7").header("x-rh-edge-request-id", "e-1").header("x-correlation-id", "c-2");
    let missing = missing.header("x-request-id", "r-1").send().await.is(404, "not_found");
    assert_eq!((&missing.json["edge_id"], &missing.json["trace_id"]), (&json!("e-1"), &json!("r-1")));
    assert_eq!(missing.header("x-correlation-id"), "c-2");
    assert_eq!(missing.json["msg"], "there is no such public key");
}

#[tokio::test]
async fn what_does_not_exist_is_refused_by_this_api() {
    let world = launch_world().await;
    for path in ["", "/nothing", "/pubkeys/1/2", "/sources/1/status/x", "//pubkeys"] {
        world.launch_request("GET", path).send().await.is(404, "not_found");
    }
    let reply = world.launch_request("PUT", "/pubkeys").send().await.is(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), "GET, HEAD, POST");
    world.launch_request("OPTIONS", "/pubkeys").send().await.is(405, "method_not_allowed");
    let head = world.launch_request("HEAD", "/pubkeys").bearer(world.token(Role::Reader)).send().await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    for bad in ["/pubkeys/abc", "/pubkeys/0", "/pubkeys/-1", "/pubkeys/+1", "/pubkeys/99999999999999999999"] {
        assert_eq!(world.get(bad).await.is(400, "invalid_parameter").json["field"], "id");
    }
}

#[tokio::test]
async fn keys_are_kept_listed_by_pages_and_deleted() {
    let world = launch_world().await;
    let mut ids = Vec::new();
    for (number, key) in KEYS.iter().enumerate() {
        ids.push(keep(&world, &format!("key {number}"), key).await);
    }
    let first = world.get(&format!("/pubkeys/{}", ids[0])).await.is_ok();
    assert_eq!(first.json["name"], "key 0");
    assert_eq!(first.json["body"], KEYS[0]);
    assert_eq!(first.json["type"], "ssh-ed25519");
    assert!(!first.json["fingerprint"].as_str().unwrap().starts_with("SHA256:"));
    assert_eq!(first.json["fingerprint_legacy"].as_str().unwrap().split(':').count(), 16);
    let page = async |path: &str| {
        let reply = world.get(path).await.is_ok();
        let names = reply.json["data"].as_array().unwrap().iter().map(|key| key["id"].as_i64().unwrap());
        (names.collect::<Vec<i64>>(), reply.json["metadata"].clone())
    };
    let links =
        |previous: &str, next: &str| json!({"total": 3, "links": {"previous": previous, "next": next}});
    assert_eq!(page("/pubkeys").await, (ids.clone(), links("", "")));
    let next = format!("{BASE}/pubkeys?limit=2&offset=2&x=a%20b");
    assert_eq!(page("/pubkeys?limit=2&x=a%20b").await, (ids[..2].to_vec(), links("", &next)));
    let next = next.strip_prefix(BASE).unwrap();
    let previous = format!("{BASE}/pubkeys?limit=2&offset=0&x=a%20b");
    assert_eq!(page(next).await, (ids[2..].to_vec(), links(&previous, "")));
    assert_eq!(page("/pubkeys?limit=-5&offset=many").await, (ids.clone(), links("", "")));
    assert_eq!(page("/pubkeys?limit=999999999").await.0, ids);
    let taken = world.post("/pubkeys", &json!({"name": "key 1", "body": KEYS[0]})).await;
    assert_eq!(taken.is(422, "duplicate_pubkey").json["field"], "body");
    world.engine.start(None).await.unwrap();
    let gone =
        world.launch_request("DELETE", &format!("/pubkeys/{}", ids[0])).bearer(world.token(Role::Launcher));
    assert_eq!(gone.send().await.status, 204);
    let taken = world.post("/pubkeys", &json!({"name": "key 1", "body": KEYS[0]})).await;
    assert_eq!(taken.is(422, "duplicate_pubkey_name").json["field"], "name");
    world.get(&format!("/pubkeys/{}", ids[0])).await.is(404, "not_found");
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_by_name() {
    let world = launch_world().await;
    let both = world.post("/pubkeys", &json!({"nmae": "k"})).await.is(400, "invalid_request");
    let fields: Vec<&Value> =
        both.json["flaws"].as_array().unwrap().iter().map(|field_error| &field_error["field"]).collect();
    assert_eq!(fields, ["name", "body"], "what is missing is nothing, and nothing is not enough");
    let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----";
    let reply =
        world.post("/pubkeys", &json!({"name": "k", "body": private})).await.is(400, "invalid_request");
    assert_eq!(reply.json["field"], "body");
    assert!(!reply.text.contains("hunter2"), "{}", reply.text);
    let wrong = world.post("/pubkeys", &json!({"name": 7, "body": KEYS[0]})).await;
    assert_eq!(wrong.is(400, "invalid_body").json["field"], "name");
    world.post("/pubkeys", &json!([])).await.is(400, "invalid_body");
    let post = || world.launch_request("POST", "/pubkeys").bearer(world.token(Role::Launcher));
    post().body("{}").send().await.is(415, "unsupported_media_type");
    post().header("content-type", "text/plain").body("{}").send().await.is(415, "unsupported_media_type");
    let json = || post().header("content-type", "application/json; charset=utf-8");
    for bad in ["", "{", "{\"name\": \"hunter2", "nonsense", "{} x"] {
        let reply = json().body(bad).send().await;
        assert_eq!(reply.status, 400, "{bad}: {}", reply.text);
        assert!(!reply.text.contains("hunter2"), "{}", reply.text);
    }
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(300 * 1024));
    json().body(large).send().await.is(413, "body_too_large");
    let sources = world.post("/sources", &json!({"name": "s", "provider": "noop", "arn": "a"})).await;
    assert_eq!(sources.is(400, "invalid_parameter").json["field"], "provider");
    let sources = world.post("/sources", &json!({"name": "s", "provider": "aws"})).await;
    assert_eq!(sources.is(400, "invalid_parameter").json["field"], "access");
    let sources = world.post("/sources", &json!({"name": "", "provider": "aws", "arn": "a"})).await;
    assert_eq!(sources.is(400, "invalid_request").json["flaws"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_body_that_never_ends_is_not_waited_for() {
    let world = launch_world().await;
    let slow = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let post = world.launch_request("POST", "/pubkeys").bearer(world.token(Role::Launcher));
    let post =
        post.header("content-type", "application/json").body(body_within(Duration::from_millis(20), slow));
    post.send().await.is(408, "slow_body");
}

#[tokio::test]
async fn sources_are_kept_listed_and_never_show_how_they_let_us_in() {
    let world = launch_world().await;
    let keys = json!({
        "name": "keys", "provider": "aws",
        "access_key_id": "AKIAIOSFODNN7EXAMPLE", "secret_access_key": "hunter2hunter2hunter2",
    });
    let made = world.post("/sources", &keys).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json["id"].as_str().unwrap();
    assert_eq!(made.header("location"), format!("{BASE}/sources/{id}"));
    let project = json!({"name": "project", "provider": "gcp", "project_id": "p-1"});
    assert_eq!(world.post("/sources", &project).await.status, 201);
    let list = async |path: &str| {
        let reply = world.get(path).await.is_ok();
        assert!(!reply.text.contains("hunter2") && !reply.text.contains("AKIA"), "{}", reply.text);
        let data = reply.json["data"].as_array().unwrap().clone();
        let names = data.iter().map(|source| source["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), reply.json["metadata"].clone())
    };
    assert_eq!(list("/sources").await.0, ["sandbox", "sandbox-azure", "sandbox-gcp", "keys", "project"]);
    assert_eq!(list("/sources?provider=gcp").await.0, ["sandbox-gcp", "project"]);
    let (names, metadata) = list("/sources?provider=aws&limit=1").await;
    assert_eq!(names, ["sandbox"]);
    assert_eq!(metadata["total"], 2);
    let next = metadata["links"]["next"].as_str().unwrap();
    assert_eq!(next, format!("{BASE}/sources?limit=1&offset=1&provider=aws"), "the filter is kept");
    assert_eq!(list(next.strip_prefix(BASE).unwrap()).await.0, ["keys"]);
    assert_eq!(
        world.get("/sources?provider=ibm").await.is(400, "invalid_parameter").json["field"],
        "provider"
    );
    let one = world.get(&format!("/sources/{id}")).await.is_ok();
    assert_eq!(one.json["provider"], "aws");
    let delete = |id: &str| {
        world.launch_request("DELETE", &format!("/sources/{id}")).bearer(world.token(Role::Launcher)).send()
    };
    assert_eq!(delete(id).await.status, 204);
    delete("sandbox").await.is(409, "conflict");
    world.get(&format!("/sources/{id}")).await.is(404, "not_found");
}

#[tokio::test]
async fn an_account_is_looked_at_where_it_is() {
    let world = launch_world().await;
    assert_eq!(world.get("/sources/sandbox/status").await.is_ok().text, "");
    let info = world.get("/sources/sandbox/upload_info").await.is_ok().json;
    assert_eq!(
        info,
        json!({"provider": "aws", "aws": {"account_id": "123456789012"}, "azure": null, "gcp": null,
            "upload_options": {"share_with_accounts": ["123456789012"]}})
    );
    let validity = world.get("/sources/sandbox/validate_permissions?region=us-east-1").await.is_ok().json;
    assert_eq!((&validity["valid"], &validity["missing_entities"]), (&json!(true), &json!([])));
    let templates = "/sources/sandbox/launch_templates";
    assert_eq!(world.get(templates).await.is(400, "invalid_request").json["field"], "region");
    let listed = world.get(&format!("{templates}?region=us-east-1")).await.is_ok().json;
    assert!(listed["data"].is_array() && listed["metadata"]["links"]["next"].is_string(), "{listed}");
    assert!(listed["metadata"]["total"].is_null(), "they were not counted: {listed}");
    let project = json!({"name": "project", "provider": "gcp", "project_id": "p-1"});
    let id = world.post("/sources", &project).await.json["id"].as_str().unwrap().to_owned();
    // The project of another organisation, or of none.
    world.get(&format!("/sources/{id}/status")).await.is(403, "cloud_permission");
    let info = world.get(&format!("/sources/{id}/upload_info")).await.is_ok().json;
    let members = json!(["serviceAccount:provision-engine@sandbox.iam.gserviceaccount.com"]);
    let expected = json!({"provider": "gcp", "aws": null, "azure": null, "gcp": {},
        "upload_options": {"share_with_accounts": members}});
    assert_eq!(info, expected);
}

#[tokio::test]
async fn a_look_at_a_source_is_asked_for_once_and_taken() {
    let world = launch_world().await;
    let ask = async |source: &Value| {
        world.post("/availability_status/sources", &json!({"source_id": source})).await
    };
    assert_eq!(ask(&json!("sandbox")).await.is_ok().text, "");
    assert_eq!(ask(&json!("sandbox")).await.is_ok().text, "", "that is the same look");
    let listed =
        world.engine.list(&engine::store::OperationQuery { limit: 10, ..Default::default() }).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    ask(&json!("987654")).await.is(404, "not_found");
    assert_eq!(ask(&json!("")).await.is(400, "invalid_parameter").json["field"], "source_id");
    assert_eq!(ask(&json!(7)).await.is(400, "invalid_body").json["field"], "source_id");
}

#[tokio::test]
async fn a_database_failing_is_not_described_and_not_blamed_on_the_caller() {
    let limit = Duration::from_millis(100);
    let settings = server::ServerSettings { request_timeout: limit, ..settings() };
    let world = launch_world_with(settings, |_| {}).await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    let endless = axum::body::Body::from_stream(stream::pending::<Result<String, std::io::Error>>());
    let post = world
        .launch_request("POST", "/pubkeys")
        .as_user("1", "ann")
        .header("content-type", "application/json");
    post.body(endless).send().await.is(408, "slow_body");
    let get = |path: &str| world.launch_request("GET", path).as_user("1", "ann").send();
    get("/pubkeys").await.is_ok();
    for (mood, status, code) in
        [(Mood::Down, 503, "unavailable"), (Mood::Refusing, 500, "internal"), (Mood::Silent, 504, "timeout")]
    {
        world.store.be(mood);
        let reply = get("/pubkeys").await.is(status, code);
        assert!(!reply.text.contains("secret_plan"), "{}", reply.text);
    }
    // A token cannot be looked up either: that says nothing about the token.
    world.store.be(Mood::Down);
    world
        .launch_request("GET", "/pubkeys")
        .bearer(world.token(Role::Reader))
        .send()
        .await
        .is(503, "unavailable");
}

#[tokio::test]
async fn the_apis_beside_it_stay_as_they_are() {
    let world = launch_world().await;
    let router = world.router.clone();
    let request = axum::http::Request::get("/api/provisioning").body(Body::empty()).unwrap();
    let other = tower::ServiceExt::oneshot(router, request).await.unwrap();
    assert_eq!(other.headers()["content-type"], "application/problem+json");
}
