//! Making, changing and removing users, and changing one's own password.

use std::time::Duration;

use api::types::AuditLog;
use engine::secret::SecretString;
use engine::{Organisation, PeopleStore, Proof, ProofKind, Role, SessionRow};
use serde_json::{Value, json};
use server::{ServerSettings, SignInError, SignInLimits};

use crate::world::{ApiFixture, TestResponse, settings, world, world_with};

const PASSWORD: &str = "twelve blue herons";

/// A user with the password above.
pub(crate) async fn with_user(world: &ApiFixture, name: &str, role: &str) {
    let made = world.post("/users", json!({"name": name, "role": role, "password": PASSWORD})).await;
    assert_eq!(made.status, 201, "{}", made.text);
}

pub(crate) async fn with_session(world: &ApiFixture, digest: &str, user: &str, proof: ProofKind) {
    let now = world.engine.now();
    let (proof, organisation) = match proof {
        ProofKind::Password => (Proof::Password { digest: String::new() }, Organisation::Server),
        ProofKind::Token => (Proof::Token { digest: String::new() }, Organisation::Server),
        ProofKind::Oidc => (Proof::CodeFlow, Organisation::Missing),
    };
    let session = SessionRow {
        grants: Vec::new(),
        digest: format!("{digest:0>64}").chars().rev().collect(),
        user: user.to_owned(),
        roles: vec![Role::Reader],
        organisation,
        permissions: Vec::new(),
        proof,
        created_at: now,
        seen_at: now,
        expires_at: now.plus(Duration::from_mins(1)),
        device: String::new(),
        address: String::new(),
    };
    world.store.add_session(&session).await.unwrap();
}

async fn opens(world: &ApiFixture, name: &str, password: &str) -> bool {
    let password = SecretString::from(password);
    match world.inside.sign_in(name, &password, None).await {
        Ok(user) => user.name == name,
        Err(SignInError::Wrong) => false,
        Err(error) => panic!("{error}"),
    }
}

async fn put(world: &ApiFixture, path: &str, body: Value) -> TestResponse {
    world.call("PUT", path).token(&world.admin).json(&body).send().await
}

async fn delete(world: &ApiFixture, path: &str) -> TestResponse {
    world.call("DELETE", path).token(&world.admin).send().await
}

async fn change_mine(world: &ApiFixture, name: &str, current: &str, new: &str) -> TestResponse {
    let body = json!({"current": current, "new": new});
    world.call("PUT", "/me/password").signed_in(name, Role::Reader).json(&body).send().await
}

fn names(list: &TestResponse) -> Vec<&str> {
    list.json["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_made_password_is_shown_once_and_opens() {
    let world = world().await;
    let made = world.post("/users", json!({"name": "zoe", "role": "operator"})).await;
    assert_eq!((made.status, made.header("cache-control")), (201, "no-store"));
    let password = made.json["password"].as_str().unwrap();
    assert!(opens(&world, "zoe", password).await);
    assert!(!opens(&world, "zoe", PASSWORD).await);
    let given = world.post("/users", json!({"name": "abe", "role": "launcher", "password": PASSWORD})).await;
    assert_eq!((given.status, &given.json["password"]), (201, &Value::Null), "it is known already");
    assert!(opens(&world, "abe", PASSWORD).await);
    let list = world.get("/users").await;
    assert_eq!(names(&list), ["abe", "zoe"]);
    assert_eq!(list.json["items"][1]["role"], "operator");
    assert!(!list.text.contains(password) && !list.text.contains("argon2"), "{}", list.text);
    world.get("/users?nonsense=1").await.is(400, "unknown-parameter");
}

#[tokio::test]
async fn a_bad_user_is_refused_with_the_field_and_without_the_password() {
    let world = world().await;
    with_user(&world, "ann", "reader").await;
    let new =
        |name: &str, role: &str, password: Value| json!({"name": name, "role": role, "password": password});
    for (body, status, code, field) in [
        (new("a b", "reader", PASSWORD.into()), 400, "invalid-body", Some("name")),
        (new("", "reader", PASSWORD.into()), 400, "invalid-body", Some("name")),
        (new("ben", "broker", PASSWORD.into()), 400, "invalid-body", Some("role")),
        (new("ben", "king", PASSWORD.into()), 400, "invalid-body", Some("role")),
        (new("ben", "reader", json!(123_456_789_012_u64)), 400, "invalid-body", Some("password")),
        (new("ben", "reader", "short-heron".into()), 422, "weak-password", Some("password")),
        (new("Benjamin.Heron", "reader", "benjamin.heron".into()), 422, "weak-password", Some("password")),
        (new("ben", "reader", "PasswordPassword".into()), 422, "weak-password", Some("password")),
        (new("ann", "reader", PASSWORD.into()), 409, "user-exists", None),
        (
            json!({"name": "ben", "role": "reader", "passwort": PASSWORD}),
            400,
            "invalid-body",
            Some("passwort"),
        ),
    ] {
        let answer = world.post("/users", body.clone()).await.is(status, code);
        assert_eq!(answer.json["field"].as_str(), field, "{body}: {}", answer.text);
        for secret in [PASSWORD, "short-heron", "benjamin.heron", "PasswordPassword", "123456789012"] {
            assert!(!answer.text.contains(secret), "{}", answer.text);
        }
    }
    assert_eq!(names(&world.get("/users").await), ["ann"]);
}

#[tokio::test]
async fn a_change_takes_what_is_given_and_ends_sessions_by_password() {
    let world = world().await;
    with_user(&world, "ann", "reader").await;
    with_session(&world, "1", "ann", ProofKind::Password).await;
    with_session(&world, "2", "ann", ProofKind::Oidc).await;
    let changed = put(&world, "/users/ann", json!({"role": "operator"})).await;
    assert_eq!((changed.status, &changed.json["role"]), (200, &json!("operator")));
    assert!(opens(&world, "ann", PASSWORD).await, "the password stays");
    let left = world.store.sessions(None, 10).await.unwrap();
    assert_eq!(left.iter().map(|session| session.proof.kind()).collect::<Vec<_>>(), [ProofKind::Oidc]);

    let changed = put(&world, "/users/ann", json!({"password": "nine grey herons"})).await;
    assert_eq!((changed.status, &changed.json["role"]), (200, &json!("operator")), "the role stays");
    assert!(!changed.text.contains("heron"), "{}", changed.text);
    assert!(opens(&world, "ann", "nine grey herons").await && !opens(&world, "ann", PASSWORD).await);

    put(&world, "/users/ann", json!({})).await.is(400, "invalid-body");
    put(&world, "/users/ann", json!({"role": "broker"})).await.is(400, "invalid-body");
    put(&world, "/users/ann", json!({"password": "ann"})).await.is(422, "weak-password");
    put(&world, "/users/ben", json!({"role": "reader"})).await.is(404, "user-not-found");
    assert!(opens(&world, "ann", "nine grey herons").await, "nothing of that counted");
}

#[tokio::test]
async fn the_limits_of_the_settings_hold_for_ones_own_password_too() {
    let sign_in = SignInLimits { attempts: 3, lock: Duration::from_secs(60) };
    let world = world_with(ServerSettings { sign_in, ..settings() }).await;
    with_user(&world, "ann", "reader").await;
    for _ in 0..3 {
        change_mine(&world, "ann", "wrong", "nine grey herons").await.is(403, "wrong-password");
    }
    change_mine(&world, "ann", PASSWORD, "nine grey herons").await.is(429, "sign-in-locked");
    world.clock.turn(Duration::from_secs(60));
    assert_eq!(change_mine(&world, "ann", PASSWORD, "nine grey herons").await.status, 204);
}

#[tokio::test]
async fn a_locked_user_shows_and_a_new_password_unlocks() {
    let world = world().await;
    with_user(&world, "ann", "reader").await;
    for _ in 0..SignInLimits::default().attempts {
        change_mine(&world, "ann", "wrong", "nine grey herons").await.is(403, "wrong-password");
    }
    let locked = change_mine(&world, "ann", PASSWORD, "nine grey herons").await.is(429, "sign-in-locked");
    let until = world.get("/users").await.json["items"][0]["locked_until"].clone();
    assert!(until.is_string() && until == locked.json["until"], "{until}");
    put(&world, "/users/ann", json!({"password": "nine grey herons"})).await;
    assert_eq!(world.get("/users").await.json["items"][0]["locked_until"], Value::Null);
    assert!(opens(&world, "ann", "nine grey herons").await);
}

#[tokio::test]
async fn neither_the_last_admin_nor_oneself_can_be_removed() {
    let world = world().await;
    with_user(&world, "ann", "admin").await;
    with_user(&world, "ben", "operator").await;
    let kept = delete(&world, "/users/ann").await.is(409, "last-admin-user");
    assert!(kept.json["detail"].as_str().unwrap().contains("make another one first"), "{}", kept.text);
    put(&world, "/users/ann", json!({"role": "operator"})).await.is(409, "last-admin-user");
    assert_eq!(put(&world, "/users/ann", json!({"role": "admin"})).await.status, 200);
    assert_eq!(put(&world, "/users/ben", json!({"role": "admin"})).await.status, 200);
    let mine = world.call("DELETE", "/users/ann").signed_in("ann", Role::Admin).send().await;
    mine.is(409, "not-yourself");
    with_session(&world, "1", "ann", ProofKind::Password).await;
    let gone = world.call("DELETE", "/users/ann").signed_in("ben", Role::Admin).send().await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert!(world.store.sessions(None, 10).await.unwrap().is_empty());
    delete(&world, "/users/ann").await.is(404, "user-not-found");
    assert_eq!(names(&world.get("/users").await), ["ben"]);
}

#[tokio::test]
async fn fifty_who_remove_the_last_two_admins_leave_one() {
    let world = world().await;
    for name in ["ann", "ben"] {
        with_user(&world, name, "admin").await;
    }
    let removals = (0..50).map(|n| delete(&world, ["/users/ann", "/users/ben"][n % 2]));
    futures_util::future::join_all(removals).await;
    assert_eq!(world.store.users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn ones_own_password_is_changed_by_who_knows_the_current_one() {
    let world = world().await;
    with_user(&world, "ann", "launcher").await;
    with_session(&world, "1", "ann", ProofKind::Password).await;
    let wrong = change_mine(&world, "ann", "nine grey herons", "some other herons").await;
    let wrong = wrong.is(403, "wrong-password");
    assert!(!wrong.text.contains("heron"), "{}", wrong.text);
    change_mine(&world, "ann", PASSWORD, "short").await.is(422, "weak-password");
    assert_eq!(world.store.sessions(None, 10).await.unwrap().len(), 1);
    let body = json!({"current": PASSWORD, "new": "nine grey herons"});
    let call = world.call("PUT", "/me/password").json(&body);
    let changed = call.signed_in("ann", Role::Launcher).send().await;
    assert_eq!((changed.status, changed.text.as_str()), (204, ""));
    assert!(opens(&world, "ann", "nine grey herons").await && !opens(&world, "ann", PASSWORD).await);
    assert!(world.store.sessions(None, 10).await.unwrap().is_empty());
    assert_eq!(world.store.find_user("ann").await.unwrap().unwrap().role, Role::Launcher);
}

#[tokio::test]
async fn who_has_no_password_has_none_to_change() {
    let world = world().await;
    with_user(&world, "rita", "reader").await;
    let body = json!({"current": PASSWORD, "new": "nine grey herons"});
    // The token has the name of a user, and is not the user.
    let token = world.call("PUT", "/me/password").token(&world.reader).json(&body).send().await;
    token.is(409, "no-password");
    let outsider =
        world.call("PUT", "/me/password").signed_in("oidc:eva", Role::Admin).json(&body).send().await;
    outsider.is(409, "no-password");
    let platform = world.call("PUT", "/me/password").signed_in("rita", Role::Broker).json(&body).send().await;
    platform.is(403, "forbidden");
    assert!(opens(&world, "rita", PASSWORD).await);
}

#[tokio::test]
async fn what_happens_to_people_is_in_the_audit_log_without_passwords() {
    let world = world().await;
    with_user(&world, "ann", "admin").await;
    with_user(&world, "ben", "reader").await;
    with_session(&world, "1", "ben", ProofKind::Token).await;
    put(&world, "/users/ben", json!({"password": "nine grey herons"})).await;
    change_mine(&world, "ben", "wrong heron", "some other herons").await;
    change_mine(&world, "ben", "nine grey herons", "some other herons").await;
    delete(&world, "/users/ben/sessions").await;
    delete(&world, "/sessions/1000000000000000").await;
    delete(&world, "/users/ann").await;
    world.call("DELETE", "/users/ben").signed_in("ann", Role::Admin).send().await;
    world.call("POST", "/users").signed_in("ben", Role::Operator).json(&json!({})).send().await;
    let answer = world.get("/audit").await;
    assert!(!answer.text.contains("heron") && !answer.text.contains("argon2"), "{}", answer.text);
    let log: AuditLog = serde_json::from_value(answer.json).unwrap();
    let rows: Vec<String> = log
        .items
        .iter()
        .rev()
        .map(|row| format!("{} {} {} {}", row.who, row.action, row.target, row.result))
        .collect();
    let expect = [
        "ada user.create ann 201",
        "ada user.create ben 201",
        "ada user.change ben 200",
        "ben password.change /me/password 403 wrong-password",
        "ben password.change ben 204",
        "ada user.sign_out ben 200",
        "ada session.end ben 204",
        "ada user.delete /users/ann 409 last-admin-user",
        "ann user.delete ben 204",
        "ben user.create /users 403 forbidden",
    ];
    assert_eq!(rows, expect);
}
