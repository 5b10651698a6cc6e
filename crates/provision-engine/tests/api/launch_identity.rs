//! How callers of the launch API show who they are.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::launch::model::Launches;
use ::launch::model::builder_identity::ServiceIdentities;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{AccessStore, Role};
use serde_json::{Value, json};

use crate::launch_world::{ORG, OUTSIDER, PROXY, identity, launch_world, launch_world_with};
use crate::world::settings;

#[tokio::test]
async fn a_forged_header_is_written_down_once_for_each_peer_and_never_believed() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    for peer in [OUTSIDER, OUTSIDER, "192.0.2.8:1", OUTSIDER, "[2001:db8::1]:1"] {
        let forged =
            world.launch_request("GET", "/pubkeys").from(peer).header("x-rh-identity", identity("1", "ann"));
        forged.send().await.is(401, "unauthenticated");
    }
    // Who has a good token beside it is let in, for the organisation of the token.
    let both = world.launch_request("GET", "/pubkeys").header("x-rh-identity", identity("1", "ann"));
    both.bearer(world.token(Role::Reader)).send().await.is_ok();
    let rows = world.store.audit_log(100).await.unwrap();
    let mut told: Vec<String> =
        rows.iter().map(|row| format!("{} {} {}", row.who, row.action, row.result)).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "peer 192.0.2.7 identity.untrusted ignored",
            "peer 192.0.2.8 identity.untrusted ignored",
            "peer 2001:db8::1 identity.untrusted ignored",
        ]
    );
}

#[tokio::test]
async fn a_proxy_that_is_trusted_counts_more_than_a_token_beside_it() {
    let world = launch_world().await;
    world.rbac.grant("ann", &[]);
    let both = world.launch_request("GET", "/pubkeys").as_user(ORG, "ann").bearer(world.token(Role::Admin));
    both.send().await.is(403, "forbidden");
    // A proxy may also have a token of its own.
    world
        .launch_request("GET", "/pubkeys")
        .from(PROXY)
        .bearer(world.token(Role::Reader))
        .send()
        .await
        .is_ok();
}

#[tokio::test]
async fn a_header_that_is_not_good_is_told_as_plain_text() {
    let world = launch_world().await;
    let encode = |value: &Value| STANDARD.encode(value.to_string());
    let get =
        |value: String| world.launch_request("GET", "/pubkeys").from(PROXY).header("x-rh-identity", value);
    let mut told = std::collections::BTreeSet::new();
    for value in [
        String::new(),
        "%%%".to_owned(),
        encode(&json!({"identity": {"type": "User"}})),
        encode(&json!({"identity": {"org_id": "1"}})),
        encode(&json!("hunter2")),
    ] {
        let reply = get(value).send().await;
        assert_eq!((reply.status, reply.header("content-type")), (400, "text/plain; charset=utf-8"));
        assert!(reply.text.starts_with("Bad Request: "), "{}", reply.text);
        assert!(!reply.text.contains("hunter2"), "{}", reply.text);
        told.insert(reply.text);
    }
    assert_eq!(told.len(), 5, "each of them is told apart: {told:?}");
    let odd = encode(&json!({"identity": {"type": "User", "org_id": "a:b"}}));
    assert_eq!(get(odd).send().await.status, 400);
    let twice = get(identity(ORG, "ann")).header("x-rh-identity", identity("2", "ann"));
    assert_eq!(twice.send().await.status, 400);
    let raw = world.launch_request("GET", "/pubkeys").from(PROXY).header("x-rh-identity", b"\xff\xfe");
    assert_eq!(raw.send().await.status, 400);
    let inner =
        json!({"identity": {"type": "User", "internal": {"org_id": "5"}, "user": {"username": "ann"}}});
    world.rbac.grant("ann", &["provisioning:*:read"]);
    get(encode(&inner)).send().await.is_ok();
}

#[tokio::test]
async fn permissions_are_remembered_for_one_principal_and_failure_is_not() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:read"]);
    world.rbac.is_down.store(true, Ordering::SeqCst);
    let get = |user: &'static str| world.launch_request("GET", "/pubkeys").as_user(ORG, user).send();
    get("ann").await.is(503, "unavailable");
    world.rbac.is_down.store(false, Ordering::SeqCst);
    for _ in 0..20 {
        get("ann").await.is_ok();
    }
    assert_eq!(world.rbac.asked.load(Ordering::SeqCst), 2);
    // Another client of the same organisation has their own.
    get("ben").await.is(403, "forbidden");
    assert_eq!(world.rbac.asked.load(Ordering::SeqCst), 3);
    // Taken away: it ends with the time for which it is remembered, and not with trouble in between.
    world.rbac.grant("ann", &[]);
    get("ann").await.is_ok();
    world.clock.turn(Duration::from_mins(10));
    get("ann").await.is(403, "forbidden");
}

/// A build of RHEL, with parameters.
fn rhel() -> Value {
    let upload = json!({"type": "aws", "options": {"share_with_accounts": ["123456789012"]}});
    let request = json!({"architecture": "x86_64", "image_type": "aws", "upload_request": upload});
    let build = json!({"distribution": "rhel-9.6", "image_requests": [request]});
    json!({"provider": "aws", "image": {"build": build}})
}

#[tokio::test]
async fn the_image_builder_sees_the_header_of_the_caller_and_no_other() {
    let world = launch_world_with(settings(), |api_parts| {
        let identities = ServiceIdentities::of_sandbox("elsewhere");
        api_parts.launches = Arc::new(Launches { identities, ..(*api_parts.launches).clone() });
    })
    .await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    let header = |entitlements: Value| {
        let user = json!({"username": "ann", "email": "ann@example"});
        let identity = json!({"type": "User", "org_id": ORG, "user": user, "auth_type": "jwt-auth"});
        STANDARD.encode(json!({"identity": identity, "entitlements": entitlements}).to_string())
    };
    let ask = |header: &str| {
        world.launch_request("POST", "/launches").from(PROXY).header("x-rh-identity", header).json(&rhel())
    };
    let entitled = header(json!({"rhel": {"is_entitled": true}, "smart_management": {"is_entitled": false}}));
    assert_eq!(ask(&entitled).send().await.status, 202);
    let seen = world.look("/image-builder/calls").await;
    assert_eq!(seen["identities"], json!([entitled]), "the header goes on unchanged");

    let without = ask(&header(json!({}))).send().await;
    without.is(400, "invalid_request");
    let by_token = world.post("/launches", &rhel()).await;
    let refused = by_token.is(403, "no_service_identity");
    assert!(refused.json["msg"].as_str().unwrap().contains("launch.service_identities"), "{}", refused.text);
    let admin = world.launch_request("POST", "/launches").bearer(world.token(Role::Admin));
    let other = admin.header("x-org-id", "elsewhere").json(&rhel()).send().await;
    assert_eq!(other.status, 202, "{}", other.text);
}
