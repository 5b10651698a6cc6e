//! The token that the Director wants to see, its pages and its faults. What it knows is tested with the Provisioner.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use client_tests::{TIMEOUT, TestClock, TestSandbox, TestServer};
use director::{ClientCredentials, Director, HttpDirector};
use serde_json::json;

fn credentials(base_url: &str) -> ClientCredentials {
    ClientCredentials {
        token_url: format!("{base_url}/identity/token"),
        client_id: "provision-engine".into(),
        client_secret: "sandbox-secret".into(),
        scope: Some("runtime:read runtime:write".into()),
    }
}

fn director(base_url: &str, credentials: ClientCredentials, clock: &Arc<TestClock>) -> HttpDirector {
    let (url, clock) = (format!("{base_url}/director/graphql"), Arc::<TestClock>::clone(clock));
    HttpDirector::new(&url, Some(credentials), clock, TIMEOUT).unwrap()
}

fn without_token(url: &str) -> HttpDirector {
    HttpDirector::new(url, None, Arc::new(TestClock::default()), TIMEOUT).unwrap()
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_its_end() {
    let (fixture, clock) = (TestSandbox::new().await, Arc::new(TestClock::default()));
    fixture.put("/director/script", &json!({"require_token": true})).await;
    let error = without_token(&fixture.url("/director/graphql")).runtime("ga-1", "rt-1").await.unwrap_err();
    assert!(error.to_string().contains("does not accept our token"), "{error:?}");
    let url = fixture.sandbox.url();
    let director = director(&url, credentials(&url), &clock);
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);

    // From here on a new token cannot be had, so what works works with the kept one.
    fixture.arm("identity", json!({"kind": "error", "status": 500, "times": 0})).await;
    clock.advance(Duration::from_secs(3600 - 31));
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
    clock.advance(Duration::from_secs(1));
    let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
    assert_eq!(error.to_string(), "director is broken: its identity answered 500 Internal Server Error");
}

#[tokio::test]
async fn a_token_that_is_turned_down_is_fetched_again_once() {
    let (fixture, clock) = (TestSandbox::new().await, Arc::new(TestClock::default()));
    let url = fixture.sandbox.url();
    let director = director(&url, credentials(&url), &clock);
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
    fixture.post("/identity/rotate", &json!({})).await;
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
}

/// An identity that counts its tokens, and a director that answers with this status.
async fn counting(status: StatusCode, expires_in: Option<u64>) -> TestServer {
    let issued = Arc::new(AtomicUsize::new(0));
    TestServer::start(move |arrival| match arrival.path.as_str() {
        "/identity/token" => {
            let token = format!("t-{}", issued.fetch_add(1, Ordering::SeqCst));
            let expires_in = expires_in.map(|seconds| json!(seconds)).unwrap_or_default();
            Json(json!({"access_token": token, "token_type": "bearer", "expires_in": expires_in}))
                .into_response()
        }
        _ => (status, Json(json!({"data": {"result": null}}))).into_response(),
    })
    .await
}

#[tokio::test]
async fn a_director_that_never_accepts_us_is_asked_twice_and_no_more() {
    let fake = counting(StatusCode::UNAUTHORIZED, Some(3600)).await;
    let director = director(&fake.url, credentials(&fake.url), &Arc::default());
    let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "director is broken: it does not accept our token: check the client id, secret and scope"
    );
    let arrivals = fake.arrivals();
    let seen: Vec<_> =
        arrivals.iter().map(|arrival| arrival.headers["authorization"].to_str().unwrap()).collect();
    let basic = "Basic cHJvdmlzaW9uLWVuZ2luZTpzYW5kYm94LXNlY3JldA==";
    assert_eq!(seen, [basic, "Bearer t-0", basic, "Bearer t-1"]);
    assert_eq!(arrivals[0].body, b"grant_type=client_credentials&scope=runtime%3Aread%20runtime%3Awrite");
}

#[tokio::test]
async fn many_calls_at_once_fetch_one_token() {
    let fake = counting(StatusCode::OK, None).await;
    let clock = Arc::new(TestClock::default());
    let director = Arc::new(director(&fake.url, credentials(&fake.url), &clock));
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let director = Arc::clone(&director);
            tokio::spawn(async move { director.runtime("ga-1", "rt-1").await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), None);
    }
    let fetched = || fake.arrivals().iter().filter(|arrival| arrival.path == "/identity/token").count();
    assert_eq!(fetched(), 1);
    // An identity that names no end gets asked again after some minutes.
    clock.advance(Duration::from_mins(5));
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
    assert_eq!(fetched(), 1);
}

#[tokio::test]
async fn a_very_short_life_is_still_used() {
    let fake = counting(StatusCode::OK, Some(10)).await;
    let clock = Arc::new(TestClock::default());
    let director = director(&fake.url, credentials(&fake.url), &clock);
    for (advance, fetched) in [(0, 1), (4, 0), (1, 1)] {
        clock.advance(Duration::from_secs(advance));
        assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
        let arrivals = fake.arrivals();
        let seen = arrivals.iter().filter(|arrival| arrival.path == "/identity/token").count();
        assert_eq!(seen, fetched, "after {advance} s");
    }
}

#[tokio::test]
async fn an_identity_that_says_no_is_understood_and_our_secret_is_not_told() {
    let fixture = TestSandbox::new().await;
    let url = fixture.sandbox.url();
    let wrong = ClientCredentials { client_secret: "hunter2:&%".into(), ..credentials(&url) };
    assert!(!format!("{wrong:?}").contains("hunter2"));
    let error = director(&url, wrong, &Arc::default()).runtime("ga-1", "rt-1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "director is broken: its identity gives us no token (invalid_client): check id, secret and scope"
    );
    fixture.arm("identity", json!({"kind": "error", "status": 429, "retry_after_s": 7})).await;
    fixture.arm("identity", json!({"kind": "garbage"})).await;
    fixture.arm("identity", json!({"kind": "drop_after"})).await;
    let director = director(&url, credentials(&url), &Arc::default());
    for expect in
        ["director asks to wait for 7 s", "director is broken: the answer is not a token", "director is not"]
    {
        let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }
    assert_eq!(director.runtime("ga-1", "rt-1").await.unwrap(), None);
}

#[tokio::test]
async fn tokens_that_cannot_be_used_are_not_quoted() {
    for body in [
        r#"{"access_token":"hunter2\n"}"#,
        r#"{"access_token":"hunter2","token_type":"mac"}"#,
        r#"{"access_token":""}"#,
        r#"{"access_token":["hunter2"]}"#,
    ] {
        let fake = TestServer::start(move |_| body.into_response()).await;
        let director = director(&fake.url, credentials(&fake.url), &Arc::default());
        let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
        assert!(!error.is_final() && !format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn pages_that_never_end_are_given_up() {
    let page = |cursor: &'static str| {
        move |_: &_| {
            let page_info = json!({"startCursor": "", "endCursor": cursor, "hasNextPage": true});
            let page = json!({"data": [], "pageInfo": page_info, "totalCount": 0});
            Json(json!({"data": {"result": page}})).into_response()
        }
    };
    for (cursor, expect, calls) in [
        ("c-1", "director is broken: it answered more than 50 pages of runtimes", 50),
        ("", "director is broken: it has more runtimes, but does not say where they begin", 1),
    ] {
        let fake = TestServer::start(page(cursor)).await;
        let director = without_token(&fake.url);
        let error = director.runtimes_by_label("ga-1", "k", "v").await.unwrap_err();
        assert_eq!(error.to_string(), expect);
        let arrivals = fake.arrivals();
        assert_eq!(arrivals.len(), calls);
        let first: serde_json::Value = serde_json::from_slice(&arrivals[0].body).unwrap();
        assert_eq!(first["variables"], json!({"key": "k", "query": "\"v\"", "first": 100}));
        assert!(!arrivals[0].headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn faults_come_back_sorted() {
    let fixture = TestSandbox::new().await;
    fixture.arm("director", json!({"kind": "garbage"})).await;
    fixture.arm("director", json!({"kind": "error", "status": 429, "retry_after_s": 7})).await;
    fixture.arm("director", json!({"kind": "drop_before"})).await;
    let director = without_token(&fixture.url("/director/graphql"));
    for expect in ["director is broken", "director asks to wait for 7 s", "director is not answering"] {
        let error = director.runtime("ga-1", "rt-1").await.unwrap_err();
        assert!(error.to_string().starts_with(expect), "{error}");
    }
}
