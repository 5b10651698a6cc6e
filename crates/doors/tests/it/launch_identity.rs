//! How callers of the launch door show who they are.

use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{AccessStore, Role};
use serde_json::{Value, json};

use crate::launch_world::{ORG, PROXY, STRANGER, identity, launch_world};

#[tokio::test]
async fn a_forged_header_is_written_down_once_for_each_peer_and_never_believed() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:*"]);
    for peer in [STRANGER, STRANGER, "192.0.2.8:1", STRANGER, "[2001:db8::1]:1"] {
        let forged = world.knock("GET", "/pubkeys").from(peer).header("x-rh-identity", identity("1", "ann"));
        forged.send().await.is(401, "unauthenticated");
    }
    // Who has a good token beside it is let in, for the organisation of the token.
    let both = world.knock("GET", "/pubkeys").header("x-rh-identity", identity("1", "ann"));
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
    let both = world.knock("GET", "/pubkeys").as_user(ORG, "ann").bearer(world.token(Role::Admin));
    both.send().await.is(403, "forbidden");
    // A proxy may also have a token of its own.
    world.knock("GET", "/pubkeys").from(PROXY).bearer(world.token(Role::Reader)).send().await.is_ok();
}

#[tokio::test]
async fn a_header_that_is_not_good_is_told_as_plain_text() {
    let world = launch_world().await;
    let encode = |value: &Value| STANDARD.encode(value.to_string());
    let get = |value: String| world.knock("GET", "/pubkeys").from(PROXY).header("x-rh-identity", value);
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
    let raw = world.knock("GET", "/pubkeys").from(PROXY).header("x-rh-identity", b"\xff\xfe");
    assert_eq!(raw.send().await.status, 400);
    let inner =
        json!({"identity": {"type": "User", "internal": {"org_id": "5"}, "user": {"username": "ann"}}});
    world.rbac.grant("ann", &["provisioning:*:read"]);
    get(encode(&inner)).send().await.is_ok();
}

#[tokio::test]
async fn permissions_are_remembered_for_one_principal_and_trouble_is_not() {
    let world = launch_world().await;
    world.rbac.grant("ann", &["provisioning:*:read"]);
    world.rbac.is_down.store(true, Ordering::SeqCst);
    let get = |user: &'static str| world.knock("GET", "/pubkeys").as_user(ORG, user).send();
    get("ann").await.is(503, "unavailable");
    world.rbac.is_down.store(false, Ordering::SeqCst);
    for _ in 0..20 {
        get("ann").await.is_ok();
    }
    assert_eq!(world.rbac.asked.load(Ordering::SeqCst), 2);
    // Somebody else of the same organisation has their own.
    get("ben").await.is(403, "forbidden");
    assert_eq!(world.rbac.asked.load(Ordering::SeqCst), 3);
    // Taken away: it ends with the time for which it is remembered, and not with trouble in between.
    world.rbac.grant("ann", &[]);
    get("ann").await.is_ok();
    world.clock.turn(Duration::from_mins(10));
    get("ann").await.is(403, "forbidden");
}
