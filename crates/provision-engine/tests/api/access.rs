//! Authentication and roles at the API.

use std::sync::atomic::Ordering;
use std::time::Duration;

use api::types::AuditLog;
use engine::{Capability, Role};
use serde_json::json;
use server::rights::Needs;

use crate::world::{ApiFixture, settings, world, world_with};

/// A path of the template that leads to nothing that exists.
fn path(template: &str) -> String {
    template
        .replace("{id}", "018f0000-0000-7000-8000-000000000000")
        .replace("{code}", "not-found")
        .replace("{name}", "unknown")
        .replace("{key}", "nothing")
        .replace("{version}", "1")
}

fn role_of(world: &ApiFixture, token: &str) -> Option<Role> {
    match token {
        token if token == world.reader => Some(Role::Reader),
        token if token == world.operator => Some(Role::Operator),
        token if token == world.admin => Some(Role::Admin),
        _ => None,
    }
}

#[tokio::test]
async fn every_route_lets_in_who_has_the_right_and_no_one_else() {
    let private = server::ServerSettings { public_metrics: false, ..settings() };
    let world = world_with(private).await;
    let bad = format!("pe_{}", "A".repeat(43));
    let tokens = ["", bad.as_str(), "nonsense", &world.expired, &world.reader, &world.operator, &world.admin];
    for right in crate::world::all_rights() {
        for token in tokens {
            let mut call = world.call(right.method.as_str(), &path(right.path));
            if !token.is_empty() {
                call = call.token(token);
            }
            let answer = call.send().await;
            let what = format!("{} {} as {token:?}: {}", right.method, right.path, answer.text);
            let needed = match right.needs {
                Needs::Nothing => None,
                Needs::ReadUnlessPublic | Needs::SeesSome => Some(Capability::Read),
                Needs::OperateOrSignalToken => Some(Capability::Operate),
                Needs::Can(capability) | Needs::CanWithSome(capability) => Some(capability),
            };
            match (needed, role_of(&world, token)) {
                (Some(_), None) => {
                    assert_eq!(answer.status, 401, "{what}");
                    let challenge = answer.header("www-authenticate");
                    assert!(challenge.starts_with("Bearer realm="), "{what}");
                    assert_eq!(challenge.contains("invalid_token"), !token.is_empty(), "{what}");
                }
                (Some(needed), Some(role)) if !role.can(needed) => {
                    assert_eq!(
                        (answer.status, &answer.json["needs"]),
                        (403, &json!(needed.role().as_str())),
                        "{what}"
                    );
                }
                _ => assert!(![401, 403].contains(&answer.status), "{what}"),
            }
        }
    }
}

#[tokio::test]
async fn metrics_may_be_public() {
    let world = world().await;
    assert_eq!(world.call("GET", "/metrics").send().await.status, 200);
}

#[tokio::test]
async fn the_scheme_may_be_written_in_any_case_but_must_be_bearer_and_alone() {
    let world = world().await;
    let call = |value: String| world.call("GET", "/workflows").header("authorization", &value);
    assert_eq!(call(format!("bEARER  {}", world.reader)).send().await.status, 200);
    for bad in [format!("Basic {}", world.reader), world.reader.clone(), "Bearer".into(), "Bearer ".into()] {
        call(bad).send().await.is(401, "unauthenticated");
    }
    let twice = call(format!("Bearer {}", world.reader)).token(&world.admin);
    twice.send().await.is(401, "unauthenticated");
    let raw = world.call("GET", "/workflows").header_bytes("authorization", b"Bearer \xff\xfe");
    raw.send().await.is(401, "unauthenticated");
}

#[tokio::test]
async fn a_thousand_calls_are_not_a_thousand_queries_and_a_deleted_token_ends_soon() {
    let world = world().await;
    let before = world.store.token_queries.load(Ordering::SeqCst);
    for _ in 0..1000 {
        let answer = world.call("GET", "/workflows").token(&world.reader).send().await;
        assert_eq!(answer.status, 200);
    }
    assert_eq!(world.store.token_queries.load(Ordering::SeqCst) - before, 1);
    // Another node deletes the token: this one does not hear of it at once.
    let now = world.engine.now();
    engine::AccessStore::remove_token(&*world.store, "rita", now).await.unwrap();
    assert_eq!(world.call("GET", "/workflows").token(&world.reader).send().await.status, 200);
    world.clock.turn(Duration::from_secs(5));
    world.call("GET", "/workflows").token(&world.reader).send().await.is(401, "unauthenticated");
    // What cannot be a token costs no query.
    let before = world.store.token_queries.load(Ordering::SeqCst);
    for nonsense in ["x", "pe_", "pe_short", &"y".repeat(64 * 1024)] {
        world.call("GET", "/workflows").token(nonsense).send().await.is(401, "unauthenticated");
    }
    assert_eq!(world.store.token_queries.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn a_token_that_expires_while_it_is_remembered_ends_at_once() {
    let world = world().await;
    let new = json!({"name": "short", "role": "reader", "expires_in_seconds": 2});
    let token = world.post("/tokens", new).await.json["token"].as_str().unwrap().to_owned();
    assert_eq!(world.call("GET", "/workflows").token(&token).send().await.status, 200);
    world.clock.turn(Duration::from_secs(2));
    let answer = world.call("GET", "/workflows").token(&token).send().await.is(401, "unauthenticated");
    assert!(answer.json["detail"].as_str().unwrap().contains("expired"), "{}", answer.text);
}

#[tokio::test]
async fn every_change_leaves_a_row_and_so_does_every_error() {
    let world = world().await;
    let id = world.submit(json!({"then": "wait", "key": "k"})).await;
    world.until(&id, "waiting").await;
    let cancel = format!("/operations/{id}/cancel");
    world
        .call("POST", &cancel)
        .token(&world.reader)
        .header("x-request-id", "r-1")
        .send()
        .await
        .is(403, "forbidden");
    let pause = world.call("POST", &format!("/operations/{id}/pause")).token(&world.operator).send().await;
    assert_eq!(pause.status, 202);
    world.call("POST", "/signals/a%00b").token(&world.operator).send().await.is(400, "invalid-parameter");
    world.call("POST", "/signals/key-1").token(&world.operator).send().await;
    world.post("/tokens", json!({"name": "ci", "role": "reader"})).await;
    world.call("DELETE", "/tokens/ci").token(&world.admin).send().await;
    world.call("POST", &cancel).send().await.is(401, "unauthenticated");
    world.get("/operations").await;

    let log: AuditLog = serde_json::from_value(world.get("/audit").await.json).unwrap();
    let rows: Vec<String> = log
        .items
        .iter()
        .rev()
        .map(|row| format!("{} {} {} {}", row.who, row.action, row.target, row.result))
        .collect();
    let expect = [
        format!("ada operation.submit {id} 202"),
        format!("rita operation.cancel /operations/{id}/cancel 403 forbidden"),
        format!("oscar operation.pause {id} 202"),
        "oscar signal.send /signals/a%00b 400 invalid-parameter".to_owned(),
        "oscar signal.send key-1 202".to_owned(),
        "ada token.create ci 201".to_owned(),
        "ada token.delete ci 204".to_owned(),
    ];
    assert_eq!(rows, expect);
    assert_eq!(log.items[5].request, "r-1");
    let two = world.get("/audit?limit=2").await;
    let next = two.json["next"].as_str().unwrap();
    let older = world.get(&format!("/audit?limit=2&cursor={next}")).await;
    assert_eq!(older.json["items"][0], json!(log.items[2]), "the page goes on where the last one ended");
    assert!(world.get("/audit?limit=1000").await.json["next"].is_null());
    world.get("/audit?cursor=x").await.is(400, "invalid-parameter");
    assert_eq!(two.json["items"].as_array().unwrap().len(), 2);
    assert_eq!(two.json["items"][0]["action"], "token.delete", "the newest is first");
    for bad in ["/audit?limit=0", "/audit?limit=1001", "/audit?limit=many"] {
        world.get(bad).await.is(400, "invalid-parameter");
    }
}
