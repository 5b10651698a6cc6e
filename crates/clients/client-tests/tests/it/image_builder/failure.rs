//! Every kind of error, as the driver sorts it.

use std::time::Duration;

use client_tests::TIMEOUT;
use http_client::DriverError;
use image_builder::{BuilderError, ImageBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{API, ImageBuilderFixture, request, who};

/// The next build goes wrong; returns how.
async fn error_after(fixture: &ImageBuilderFixture, fault: Value) -> BuilderError {
    fixture.arm("image_builder", fault).await;
    fixture.builder.submit(&who(), &request("launch 1")).await.unwrap_err()
}

#[tokio::test]
async fn an_error_carries_the_external_systems_words_and_is_final() {
    let fixture = ImageBuilderFixture::new().await;
    let mut wrong = request("launch 1");
    wrong["distribution"] = json!("plan-9");
    let error = fixture.builder.submit(&who(), &wrong).await.unwrap_err();
    let message = "distribution not available".to_owned();
    assert_eq!(error, BuilderError::Refused { status: 400, message });
    wrong["distribution"] = json!("rhel-9-nightly");
    let error = fixture.builder.submit(&who(), &wrong).await.unwrap_err();
    assert!(matches!(error, BuilderError::Refused { status: 403, .. }), "{error:?}");
    assert!(!error.may_heal() && !error.may_have_happened());
    assert_eq!(fixture.made().await, 0);
}

#[tokio::test]
async fn a_used_up_quota_is_told_apart_from_other_errors() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.post("/image-builder/quota", &json!({"builds": 0})).await;
    let error = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap_err();
    assert!(matches!(&error, BuilderError::Quota { message } if message.contains("quota of 0")), "{error:?}");
    assert!(!error.may_heal() && !error.may_have_happened());
}

#[tokio::test]
async fn faults_come_back_sorted() {
    let fixture = ImageBuilderFixture::new().await;
    let error = error_after(&fixture, json!({"kind": "drop_before"})).await;
    assert!(matches!(error, BuilderError::Unreachable { was_asked: true, .. }), "{error:?}");
    let error = error_after(&fixture, json!({"kind": "garbage"})).await;
    assert_eq!(error, BuilderError::Broken { cause: "200 OK was not expected".into() });
    let error = error_after(&fixture, json!({"kind": "error", "status": 500})).await;
    assert!(matches!(error, BuilderError::Broken { .. }) && error.may_have_happened(), "{error:?}");
    let error = error_after(&fixture, json!({"kind": "error", "status": 408})).await;
    assert!(matches!(error, BuilderError::Broken { .. }), "{error:?}");
    let error = error_after(&fixture, json!({"kind": "error", "status": 429, "retry_after_s": 9})).await;
    assert_eq!(error, BuilderError::Throttled { retry_after: Duration::from_secs(9) });
    let error = error_after(&fixture, json!({"kind": "error", "status": 503, "retry_after_s": 3})).await;
    assert_eq!(error, BuilderError::Throttled { retry_after: Duration::from_secs(3) });
    assert_eq!(fixture.made().await, 0);
}

#[tokio::test]
async fn looking_and_hiding_suffer_like_building() {
    let fixture = ImageBuilderFixture::new().await;
    let id = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap();
    for _ in 0..2 {
        fixture.arm("image_builder", json!({"kind": "garbage", "times": 3})).await;
        assert!(matches!(fixture.builder.status(&who(), id).await, Err(BuilderError::Broken { .. })));
        assert!(matches!(fixture.builder.hide(&who(), id).await, Err(BuilderError::Broken { .. })));
        assert!(matches!(fixture.builder.page(&who(), 10, 0).await, Err(BuilderError::Broken { .. })));
    }
    fixture.arm("image_builder", json!({"kind": "error", "status": 500, "times": 4})).await;
    assert!(matches!(fixture.builder.status(&who(), id).await, Err(BuilderError::Broken { .. })));
    assert!(matches!(fixture.builder.hide(&who(), id).await, Err(BuilderError::Broken { .. })));
    assert!(matches!(fixture.builder.page(&who(), 10, 0).await, Err(BuilderError::Broken { .. })));
    assert!(matches!(fixture.builder.ready(&who()).await, Err(BuilderError::Broken { .. })));
    fixture.arm("image_builder", json!({"kind": "drop_after", "method": "DELETE"})).await;
    assert!(matches!(fixture.builder.hide(&who(), id).await, Err(BuilderError::Unreachable { .. })));
    fixture.builder.hide(&who(), id).await.unwrap();
}

#[tokio::test]
async fn silence_ends_with_the_timeout() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.post("/image-builder/latency", &json!({"latency_ms": 30_000})).await;
    let impatient = ImageBuilder::new(&fixture.url(API), Duration::from_millis(20)).unwrap();
    let error = impatient.submit(&who(), &request("launch 1")).await.unwrap_err();
    assert!(matches!(error, BuilderError::TimedOut { was_asked: true, .. }), "{error:?}");
    assert!(error.may_have_happened() && error.may_heal());
}

#[tokio::test]
async fn no_one_at_home_was_not_asked() {
    let fixture = ImageBuilderFixture::new().await;
    fixture.sandbox.sandbox.stop().await;
    let error = fixture.builder.status(&who(), Uuid::nil()).await.unwrap_err();
    assert!(matches!(error, BuilderError::Unreachable { .. }), "{error:?}");
    let error = fixture.builder.submit(&who(), &request("launch 1")).await.unwrap_err();
    assert!(matches!(error, BuilderError::Unreachable { was_asked: false, .. }), "{error:?}");
    assert!(!error.may_have_happened() && !error.to_string().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_not_sent() {
    let fixture = ImageBuilderFixture::new().await;
    let error = fixture.builder.submit(&who(), &request(&"x".repeat(1024 * 1024))).await.unwrap_err();
    assert!(matches!(error, BuilderError::Refused { status: 413, .. }), "{error:?}");
    assert_eq!(fixture.get("/image-builder/calls").await["calls"], json!({}));
}

#[test]
fn a_url_that_leads_nowhere_is_refused_at_once() {
    for url in ["", "image-builder", "ftp://x/api", "http://ada:hunter2@x/api"] {
        let error = ImageBuilder::new(url, TIMEOUT).unwrap_err();
        assert!(matches!(error, DriverError::Refused { .. }), "{error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
