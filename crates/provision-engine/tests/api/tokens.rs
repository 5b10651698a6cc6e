//! Making, listing and deleting tokens.

use serde_json::json;

use crate::world::world;

#[tokio::test]
async fn a_token_is_shown_once_works_and_is_gone_when_it_is_deleted() {
    let world = world().await;
    let made =
        world.post("/tokens", json!({"name": "ci", "role": "operator", "expires_in_seconds": 60})).await;
    assert_eq!(made.status, 201);
    assert_eq!(made.header("cache-control"), "no-store");
    let token = made.json["token"].as_str().unwrap();
    assert!(made.json["expires_at"].is_string());
    let used = world.call("POST", "/signals/k").token(token).send().await;
    assert_eq!(used.status, 202);
    let list = world.get("/tokens").await;
    assert!(!list.text.contains(token) && !list.text.contains("digest"), "{}", list.text);
    let names: Vec<&str> =
        list.json["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["rita", "oscar", "ada", "eve", "ci"]);
    let deleted = world.call("DELETE", "/tokens/ci").token(&world.admin).send().await;
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    world.call("POST", "/signals/k").token(token).send().await.is(401, "unauthenticated");
    world.call("DELETE", "/tokens/ci").token(&world.admin).send().await.is(404, "token-not-found");
}

#[tokio::test]
async fn a_bad_token_request_is_refused_with_the_field() {
    let world = world().await;
    for (body, code, field) in [
        (json!({"name": "a b", "role": "reader"}), "invalid-body", Some("name")),
        (json!({"name": "", "role": "reader"}), "invalid-body", Some("name")),
        (json!({"name": "a", "role": "king"}), "invalid-body", Some("role")),
        (
            json!({"name": "a", "role": "reader", "expires_in_seconds": 0}),
            "invalid-body",
            Some("expires_in_seconds"),
        ),
        (
            json!({"name": "a", "role": "reader", "expires_in_seconds": u64::MAX}),
            "invalid-body",
            Some("expires_in_seconds"),
        ),
        (
            json!({"name": "a", "role": "reader", "expires_in_seconds": -1}),
            "invalid-body",
            Some("expires_in_seconds"),
        ),
        (json!({"name": "a"}), "invalid-body", None),
    ] {
        let answer = world.post("/tokens", body.clone()).await.is(400, code);
        assert_eq!(answer.json["field"].as_str(), field, "{body}: {}", answer.text);
    }
    world.post("/tokens", json!({"name": "ada", "role": "reader"})).await.is(409, "token-exists");
}

#[tokio::test]
async fn fifty_who_delete_the_last_two_admin_tokens_leave_one() {
    let world = world().await;
    assert_eq!(world.call("DELETE", "/tokens/eve").token(&world.admin).send().await.status, 204);
    world.post("/tokens", json!({"name": "abe", "role": "admin"})).await;
    let paths = ["/tokens/ada", "/tokens/abe"];
    let deletions = (0..50).map(|n| world.call("DELETE", paths[n % 2]).token(&world.admin).send());
    let ended = futures_util::future::join_all(deletions).await;
    assert_eq!(ended.iter().filter(|answer| answer.status == 204).count(), 1);
    let left = engine::AccessStore::tokens(&*world.store).await.unwrap();
    assert_eq!(left.iter().filter(|token| token.role == engine::Role::Admin).count(), 1);
}

#[tokio::test]
async fn the_last_admin_cannot_be_deleted_and_an_expired_one_does_not_count() {
    let world = world().await;
    world.call("DELETE", "/tokens/ada").token(&world.admin).send().await.is(409, "last-admin");
    let deleted = world.call("DELETE", "/tokens/eve").token(&world.admin).send().await;
    assert_eq!(deleted.status, 204);
    world.post("/tokens", json!({"name": "abe", "role": "admin"})).await;
    let deleted = world.call("DELETE", "/tokens/ada").token(&world.admin).send().await;
    assert_eq!(deleted.status, 204);
    world.get("/tokens").await.is(401, "unauthenticated");
}

#[tokio::test]
async fn who_manages_one_team_removes_no_one_who_may_do_more() {
    let world = world().await;
    let lead = ["administer:*", "submit:red.*", "read:red.*"];
    for (name, role, grants) in [
        ("boss", "admin", json!([])),
        ("blue", "limited", json!(["submit:blue.*"])),
        ("plat", "broker", json!([])),
    ] {
        let made = world.post("/tokens", json!({"name": name, "role": role, "grants": grants})).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let red = json!({"name": "red", "role": "limited", "grants": ["submit:red.db"]});
    assert_eq!(world.post("/tokens", red).await.status, 201);
    for (name, role, grants) in [("eva", "admin", json!([])), ("rob", "limited", json!(["read:red.*"]))] {
        let user = json!({"name": name, "role": role, "grants": grants, "password": "correct horse battery"});
        assert_eq!(world.post("/users", user).await.status, 201);
    }
    let delete = async |path: &str| world.call("DELETE", path).granted(&lead).send().await;
    for path in ["/tokens/boss", "/tokens/blue", "/tokens/plat", "/tokens/oscar", "/users/eva"] {
        delete(path).await.is(403, "forbidden");
    }
    delete("/tokens/none").await.is(404, "token-not-found");
    delete("/users/none").await.is(404, "user-not-found");
    for path in ["/tokens/red", "/users/rob"] {
        assert_eq!(delete(path).await.status, 204, "{path}");
    }
}
