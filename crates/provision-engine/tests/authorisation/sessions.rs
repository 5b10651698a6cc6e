//! A session of the console ends with the proof that opened it.

use std::time::Duration;

use engine::secret::ExposeSecret;
use engine::{AccessStore, PeopleStore, Role, UserChange};
use serde_json::json;

use crate::browser::Browser;
use crate::world::{AuthFixture, PASSWORD};

#[track_caller]
fn is_in(browser: &Browser) {
    assert!(browser.session().is_some());
}

async fn looks(browser: &mut Browser) -> u16 {
    browser.get("/console/launches").await.status
}

#[tokio::test]
async fn a_session_by_bearer_ends_with_the_bearer_at_the_api_and_in_the_console() {
    let world = AuthFixture::new().await;
    let token = world.issuer.sign(&json!({"org_id": "alpha", "groups": ["launcher"]}), world.now(), 300);
    let mut browser = world.browser();
    browser.with_token(&token).await;
    is_in(&browser);
    let api = async || {
        let headers = [("authorization", format!("Bearer {token}"))];
        let path = format!("{}/launches", ::launch::api::BASE);
        world.call("GET", &path, None, &headers).await.status
    };
    // Clocks differ, so that it is good for a minute longer.
    world.clock.turn(Duration::from_secs(300));
    assert_eq!((api().await, looks(&mut browser).await), (200, 200));
    world.clock.turn(Duration::from_secs(60));
    assert_eq!((api().await, looks(&mut browser).await), (401, 303));
}

#[tokio::test]
async fn a_session_by_token_ends_when_the_token_expires_or_is_deleted_by_another_replica() {
    let world = AuthFixture::new().await;
    let now = world.engine.now();
    let expires_at = Some(now.plus(Duration::from_secs(60)));
    let mut signed_in = Vec::new();
    for (name, expires_at) in [("short", expires_at), ("deleted", None), ("replaced", None)] {
        let issued = server::tokens::issue(&*world.store, name, Role::Reader, now, expires_at).await.unwrap();
        let mut browser = world.browser();
        browser.with_token(issued.expose_secret()).await;
        is_in(&browser);
        signed_in.push(browser);
    }
    // Straight in the database, as another replica does: this one hears of nothing, and forgets after five seconds.
    for name in ["deleted", "replaced"] {
        assert!(world.store.remove_token(name, now).await.unwrap().is_done());
    }
    server::tokens::issue(&*world.store, "replaced", Role::Admin, now, None).await.unwrap();
    world.clock.turn(Duration::from_secs(5));
    let [short, deleted, replaced] = &mut signed_in[..] else { panic!() };
    assert_eq!(looks(deleted).await, 303);
    assert_eq!(looks(replaced).await, 303, "a token of the same name is another token");
    assert_eq!(looks(short).await, 200);
    world.clock.turn(Duration::from_secs(55));
    assert_eq!(looks(short).await, 303);
}

#[tokio::test]
async fn a_session_by_password_ends_with_the_password_and_has_the_role_of_the_user() {
    let world = AuthFixture::new().await;
    let mut browser = world.browser();
    browser.with_password("reader", PASSWORD).await;
    is_in(&browser);
    let secret = browser.session().unwrap().to_owned();
    let row = world.store.sessions(Some("reader"), 1).await.unwrap().remove(0);
    let user = world.store.find_user("reader").await.unwrap().unwrap();
    let change = |hash: &str| UserChange { grants: None, role: None, hash: Some(hash.to_owned()) };
    // The session of a browser that signed in while the password was changed is written after the change.
    assert!(world.store.change_user("reader", &change("another")).await.unwrap().is_done());
    world.store.add_session(&row).await.unwrap();
    assert_eq!(browser.session(), Some(secret.as_str()));
    assert_eq!(looks(&mut browser).await, 303);
    assert!(world.store.change_user("reader", &change(&user.hash)).await.unwrap().is_done());
    world.store.add_session(&row).await.unwrap();
    assert_eq!(looks(&mut browser).await, 200);
    assert!(world.store.remove_user("reader").await.unwrap().is_done());
    world.store.add_session(&row).await.unwrap();
    assert_eq!(looks(&mut browser).await, 303);
}

#[tokio::test]
async fn a_guest_without_an_organisation_sees_the_data_of_none() {
    let world = AuthFixture::new().await;
    for way in ["bearer", "code flow"] {
        let mut browser = world.browser();
        let claims = json!({"groups": ["launcher"]});
        if way == "bearer" {
            browser.with_token(&world.issuer.sign(&claims, world.now(), 300)).await;
        } else {
            browser.with_code_flow(&world, &claims).await;
        }
        is_in(&browser);
        let page = browser.get("/console/launches").await;
        assert!(page.text.contains("names no organisation"), "{way}: {}", page.text);
    }
}
