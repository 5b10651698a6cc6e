//! Who is signed in, and how they are signed out.

use std::time::Duration;

use engine::{PeopleStore, ProofKind};
use serde_json::json;

use crate::people::{with_session, with_user};
use crate::shaky_store::Mood;
use crate::world::{ApiFixture, TestResponse, world};

fn ids(list: &TestResponse) -> Vec<&str> {
    list.json["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

async fn delete(world: &ApiFixture, path: &str) -> TestResponse {
    world.call("DELETE", path).token(&world.admin).send().await
}

#[tokio::test]
async fn sessions_are_listed_without_what_a_browser_holds() {
    let world = world().await;
    with_session(&world, "1", "ann", ProofKind::Password).await;
    with_session(&world, "2", "ben", ProofKind::Oidc).await;
    with_session(&world, "3", "ann", ProofKind::Token).await;
    let list = world.get("/sessions").await;
    assert_eq!(ids(&list), ["3000000000000000", "2000000000000000", "1000000000000000"]);
    for session in world.store.sessions(None, 10).await.unwrap() {
        assert!(!list.text.contains(&session.digest), "{}", list.text);
    }
    let first = &list.json["items"][2];
    assert_eq!(
        (&first["user"], &first["role"], &first["proof"]),
        (&json!("ann"), &json!("reader"), &json!("password"))
    );
    assert!(["created_at", "seen_at", "expires_at"].iter().all(|time| first[*time].is_string()), "{first}");
    assert_eq!(ids(&world.get("/sessions?user=ann").await), ["3000000000000000", "1000000000000000"]);
    assert_eq!(ids(&world.get("/sessions?limit=1").await), ["3000000000000000"]);
    world.get("/sessions?limit=0").await.is(400, "invalid-parameter");
    world.clock.turn(Duration::from_mins(1));
    assert!(ids(&world.get("/sessions").await).is_empty(), "what has expired is not listed");
}

#[tokio::test]
async fn a_session_is_ended_by_its_whole_id() {
    let world = world().await;
    with_session(&world, "1", "ann", ProofKind::Password).await;
    with_session(&world, "2", "ben", ProofKind::Oidc).await;
    let whole = world.store.sessions(Some("ann"), 1).await.unwrap()[0].digest.clone();
    for id in ["1", "100000000000000", "4000000000000000", &whole, "%00"] {
        let refused = delete(&world, &format!("/sessions/{id}")).await;
        assert!([400, 404].contains(&refused.status), "{id}: {}", refused.text);
    }
    assert_eq!(delete(&world, "/sessions/2000000000000000").await.status, 204);
    delete(&world, "/sessions/2000000000000000").await.is(404, "session-not-found");
    assert_eq!(ids(&world.get("/sessions").await), ["1000000000000000"]);
}

#[tokio::test]
async fn signing_someone_out_ends_what_began_with_the_password() {
    let world = world().await;
    with_user(&world, "ann", "reader").await;
    for (digest, proof) in [("1", ProofKind::Password), ("2", ProofKind::Token), ("3", ProofKind::Password)] {
        with_session(&world, digest, "ann", proof).await;
    }
    with_session(&world, "4", "ben", ProofKind::Password).await;
    let out = delete(&world, "/users/ann/sessions").await;
    assert_eq!((out.status, out.json), (200, json!({"sessions": 2})));
    assert_eq!(ids(&world.get("/sessions").await), ["4000000000000000", "2000000000000000"]);
    delete(&world, "/users/ben/sessions").await.is(404, "user-not-found");
}

#[tokio::test]
async fn with_a_token_its_sessions_end() {
    let world = world().await;
    world.post("/tokens", json!({"name": "ann", "role": "reader"})).await;
    with_session(&world, "1", "ann", ProofKind::Password).await;
    with_session(&world, "2", "ann", ProofKind::Token).await;
    assert_eq!(delete(&world, "/tokens/ann").await.status, 204);
    assert_eq!(ids(&world.get("/sessions").await), ["1000000000000000"]);
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_said() {
    let world = world().await;
    world.get("/users").await;
    world.store.be(Mood::Down);
    world.get("/users").await.is(503, "database-unavailable");
    world.get("/sessions").await.is(503, "database-unavailable");
    let new = json!({"name": "ann", "role": "reader"});
    let lost = world.post("/users", new).await.is(503, "database-unavailable");
    assert!(lost.json["password"].is_null(), "it is not in the answer: {}", lost.text);
}
