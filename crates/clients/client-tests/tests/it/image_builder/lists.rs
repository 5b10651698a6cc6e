//! How a step finds the build that an earlier try made.

use std::time::Duration;

use axum::extract::Query;
use axum::{Json, Router, routing};
use client_tests::TIMEOUT;
use engine::Timestamp;
use identity::{CallerIdentity, Organisation};
use image_builder::{BuilderError, ImageBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ImageBuilderFixture, request, who};

async fn now(fixture: &ImageBuilderFixture) -> Timestamp {
    Timestamp::parse(fixture.get("/clock").await["now"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_lost_answer_is_found_by_the_mark_in_the_description() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    let before = now(&fixture).await.minus(Duration::from_mins(1));
    fixture.post("/image-builder/faults/lose", &json!({})).await;
    let error = fixture.builder.submit(&who(), &request("launch 2")).await.unwrap_err();
    assert!(error.may_have_happened() && error.may_heal(), "{error:?}");
    let listed = fixture.builder.list(&who(), before).await.unwrap();
    let found: Vec<_> = listed.iter().filter(|one| one.description.as_deref() == Some("launch 2")).collect();
    assert_eq!((listed.len(), found.len()), (2, 1));
    assert_eq!(found[0].image_name.as_deref(), Some("web"));
    assert!(fixture.builder.status(&who(), found[0].id).await.is_ok());
    assert_eq!(fixture.made().await, 2);
}

#[tokio::test]
async fn only_what_is_new_enough_is_found_newest_first() {
    let fixture = ImageBuilderFixture::new().await;
    let mut ids = Vec::new();
    let mut moments = Vec::new();
    for number in 0..3 {
        moments.push(now(&fixture).await);
        ids.push(fixture.builder.submit(&who(), &request(&format!("launch {number}"))).await.unwrap());
        fixture.post("/clock", &json!({"advance_ms": 3_600_000})).await;
    }
    let listed = fixture.builder.list(&who(), moments[1]).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.id).collect::<Vec<_>>(), [ids[2], ids[1]]);
    let (page, total) = fixture.builder.page(&who(), 1, 2).await.unwrap();
    assert_eq!((page[0].id, page.len(), total), (ids[0], 1, 3));
    let unknown = CallerIdentity::from(&Organisation { org: "org-2".into(), account: None });
    assert_eq!(fixture.builder.list(&unknown, moments[0]).await.unwrap(), []);
    let refused = fixture.builder.page(&who(), 101, 0).await.unwrap_err();
    assert!(matches!(refused, BuilderError::Refused { status: 400, .. }), "{refused:?}");
}

#[derive(Deserialize)]
struct ListRequest {
    limit: u32,
    offset: u32,
}

/// An external system that has so many builds, one a second, the newest at 1,000,000 s. It overlaps its pages by one, as if
/// a caller had begun a build in between. Returns the driver for it.
async fn with_builds(count: u32) -> ImageBuilder {
    let list = move |Query(asked): Query<ListRequest>| async move {
        assert_eq!(asked.limit, 100);
        let from = asked.offset.saturating_sub(asked.offset / 100);
        let one = |number: u32| {
            let at = Timestamp(i64::from(1_000_000 - number) * 1_000_000);
            json!({"id": Uuid::from_u128(u128::from(number)), "created_at": at, "request": {}})
        };
        let data: Vec<Value> = (from..count.min(from + asked.limit)).map(one).collect();
        Json(json!({"meta": {"count": count}, "data": data}))
    };
    let router = Router::new().route("/composes", routing::get(list));
    let listener = tokio::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    ImageBuilder::new(&url, TIMEOUT).unwrap()
}

#[tokio::test]
async fn many_pages_are_read_and_nothing_is_told_twice() {
    let builder = with_builds(1050).await;
    let all = builder.list(&who(), Timestamp(0)).await.unwrap();
    let numbers: Vec<u128> = all.iter().map(|one| one.id.as_u128()).collect();
    assert_eq!(numbers, (0..1050).collect::<Vec<u128>>());
    let some = builder.list(&who(), Timestamp((1_000_000 - 250) * 1_000_000)).await.unwrap();
    assert_eq!(some.len(), 251);
}

#[tokio::test]
async fn a_list_that_does_not_end_is_an_error_and_not_a_short_list() {
    let builder = with_builds(5000).await;
    let error = builder.list(&who(), Timestamp(0)).await.unwrap_err();
    assert!(error.to_string().contains("more than 2000 builds"), "{error}");
    assert!(matches!(error, BuilderError::Broken { .. }), "{error:?}");
}
