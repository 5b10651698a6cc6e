//! Signing in under attack: every answer looks alike, a crowd is turned away, and the audit log stays short.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use engine::AccessStore;
use tower::ServiceExt;

use crate::page::attribute;
use crate::world::{AuthFixture, PASSWORD, Reply};

/// The page to sign in, as its cookie and its word.
async fn visit(world: &AuthFixture) -> (String, String) {
    let page = Request::get("/console/sign-in").body(Body::empty()).unwrap();
    let page = Reply::read(world.console.clone().oneshot(page).await.unwrap()).await;
    let cookie = page.cookies[0].split(';').next().unwrap().to_owned();
    let word = page.text.split("name=\"_csrf\"").nth(1).and_then(|rest| attribute(rest, "value")).unwrap();
    (cookie, word)
}

async fn attempt(
    world: &AuthFixture,
    (cookie, word): &(String, String),
    from: u8,
    name: &str,
    password: &str,
) -> Reply {
    let form = format!("_csrf={word}&name={name}&password={}", password.replace(' ', "+"));
    let request = Request::post("/console/sign-in")
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .extension(ConnectInfo(SocketAddr::from(([192, 0, 2, from], 4711))));
    let request = request.body(Body::from(form)).unwrap();
    Reply::read(world.console.clone().oneshot(request).await.unwrap()).await
}

async fn rows(world: &AuthFixture) -> Vec<String> {
    let rows = world.store.audit_log(1000).await.unwrap();
    let rows = rows.iter().filter(|row| row.action == "session.begin" && row.result != "303");
    rows.map(|row| format!("{} {} {}", row.who, row.target, row.result)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_is_turned_away_at_once_and_leaves_one_row() {
    let world = AuthFixture::new().await;
    let visit = visit(&world).await;
    let attempts = (0..150).map(|_| attempt(&world, &visit, 7, "admin", "wrong"));
    let answers = futures_util::future::join_all(attempts).await;
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!(count(401) + count(429), 150);
    assert!(count(429) >= 100, "most of them do not wait: {}", count(429));
    assert_eq!(rows(&world).await.len(), 1, "{:?}", rows(&world).await);
    assert_eq!(attempt(&world, &visit, 8, "reader", PASSWORD).await.status, 303, "the others do not notice");
}

#[tokio::test]
async fn an_outsider_cannot_lock_a_user_out_of_the_address_that_it_uses() {
    let world = AuthFixture::new().await;
    let visit = visit(&world).await;
    assert_eq!(attempt(&world, &visit, 1, "admin", PASSWORD).await.status, 303);
    let limits = world.inside.sign_in_limits();
    let mut told = Vec::new();
    for _ in 0..=limits.attempts {
        told.push(attempt(&world, &visit, 2, "admin", "wrong").await);
    }
    told.push(attempt(&world, &visit, 2, "admin", PASSWORD).await);
    told.push(attempt(&world, &visit, 3, "stranger", "wrong").await);
    let words = |reply: &Reply| reply.text.split("id=\"sign-in-error\"").nth(1).unwrap()[..200].to_owned();
    for answer in &told {
        assert_eq!(
            (answer.status, words(answer)),
            (401, words(&told[0])),
            "the answer does not tell who is a user"
        );
    }
    assert_eq!(attempt(&world, &visit, 1, "admin", PASSWORD).await.status, 303);
    assert_eq!(rows(&world).await.len(), 2, "one for each address: {:?}", rows(&world).await);
}
