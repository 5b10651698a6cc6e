//! Answers that Image Builder never gives, and those that it gives in other years.

use client_tests::{TIMEOUT, answering};
use engine::Timestamp;
use image_builder::{BuildStatus, BuilderError, Compose, ImageBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{request, who};

async fn builder(status: u16, body: impl Into<String>) -> ImageBuilder {
    ImageBuilder::new(&answering(status, body).await, TIMEOUT).unwrap()
}

async fn status(body: &Value) -> Result<Compose, BuilderError> {
    builder(200, body.to_string()).await.status(&who(), Uuid::nil()).await
}

#[tokio::test]
async fn answers_that_cannot_be_read_are_broken() {
    for body in [
        "",
        "null",
        "[]",
        "{}",
        "<html>",
        r#"{"image_status":{}}"#,
        r#"{"image_status":{"status":"dreaming"}}"#,
        r#"{"image_status":{"status":"success","progress":{"done":-1,"total":7}}}"#,
        r#"{"image_status":{"status":"success","upload_status":{"type":"aws"}}}"#,
    ] {
        let error = builder(200, body).await.status(&who(), Uuid::nil()).await.unwrap_err();
        assert!(
            matches!(&error, BuilderError::Broken { cause } if cause.contains("status of a build")),
            "{body}"
        );
    }
    for body in ["", "{}", r#"{"id":7}"#, r#"{"id":"seven"}"#] {
        let error = builder(201, body).await.submit(&who(), &request("x")).await.unwrap_err();
        assert!(matches!(error, BuilderError::Broken { .. }) && error.may_have_happened(), "{body}");
    }
    for body in ["{}", r#"{"data":[]}"#, r#"{"meta":{"count":1},"data":[{"id":"x"}]}"#] {
        let error = builder(200, body).await.list(&who(), Timestamp(0)).await.unwrap_err();
        assert!(matches!(error, BuilderError::Broken { .. }), "{body}");
    }
    let redirected = builder(307, "").await.submit(&who(), &request("x")).await.unwrap_err();
    assert_eq!(redirected.to_string(), "image builder is broken: 307 Temporary Redirect was not expected");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let long = "x".repeat(4 * 1024 * 1024 + 1);
    let error = builder(200, long).await.status(&who(), Uuid::nil()).await.unwrap_err();
    assert_eq!(error.to_string(), "image builder is broken: the answer is longer than 4194304 bytes");
}

#[tokio::test]
async fn errors_are_shown_in_one_line_however_they_look() {
    let long = "y".repeat(9000);
    for (body, words) in [
        (json!({"errors": [{"title": "400", "detail": "no\nluck"}]}).to_string(), "no luck"),
        (json!({"errors": [{"title": "only a title"}]}).to_string(), "only a title"),
        (json!({"errors": [{"title": "t", "detail": " "}]}).to_string(), "t"),
        (json!({"errors": []}).to_string(), "{\"errors\":[]}"),
        ("plain words".to_owned(), "plain words"),
        (String::new(), "400 Bad Request"),
        ("<html>a page</html>".to_owned(), "400 Bad Request"),
    ] {
        let error = builder(400, body).await.submit(&who(), &request("x")).await.unwrap_err();
        assert_eq!(error, BuilderError::Refused { status: 400, message: words.to_owned() });
    }
    let body = json!({"errors": [{"detail": long}]}).to_string();
    let error = builder(400, body).await.submit(&who(), &request("x")).await.unwrap_err();
    let BuilderError::Refused { message, .. } = error else { panic!("{error:?}") };
    assert_eq!(message.chars().count(), 500);
}

#[tokio::test]
async fn a_404_is_an_unknown_build_only_where_one_was_named() {
    let nowhere = builder(404, "").await;
    assert_eq!(nowhere.status(&who(), Uuid::nil()).await, Err(BuilderError::Unknown));
    assert_eq!(nowhere.hide(&who(), Uuid::nil()).await, Ok(()));
    let error = nowhere.submit(&who(), &request("x")).await.unwrap_err();
    assert!(matches!(error, BuilderError::Refused { status: 404, .. }), "{error:?}");
    let error = nowhere.page(&who(), 1, 0).await.unwrap_err();
    assert!(matches!(error, BuilderError::Refused { status: 404, .. }), "{error:?}");
}

#[tokio::test]
async fn the_reason_of_a_failure_is_found_wherever_it_is() {
    let nested = |depth: usize| {
        let inner = json!({"id": 22, "reason": "bottom"});
        (0..depth).fold(inner, |inner, _| json!({"id": 9, "reason": "", "details": [inner]}))
    };
    for (error, words) in [
        (json!({"id": 3, "reason": "plain", "details": "more"}), "plain"),
        (json!({"id": 5, "reason": "outer", "details": [{"id": 22, "reason": "inner"}]}), "outer: inner"),
        (json!({"id": 28, "reason": "outer", "details": {"id": 11, "reason": "inner"}}), "outer: inner"),
        (json!({"id": 26, "reason": "outer", "details": null}), "outer"),
        (json!({"id": 26, "reason": "same", "details": ["same"]}), "same"),
        (json!({"id": 3, "reason": "", "details": "words"}), "words"),
        (json!({"id": 3, "details": [{"reason": "first"}, {"reason": "second"}]}), "first"),
        (json!({"id": 9, "reason": "a\nb", "details": []}), "a b"),
        (json!({}), "the build failed, and image builder does not say why"),
        (Value::Null, "the build failed, and image builder does not say why"),
        (nested(8), "bottom"),
        (nested(9), "the build failed, and image builder does not say why"),
    ] {
        let body = json!({"image_status": {"status": "failure", "error": error}});
        let compose = status(&body).await.unwrap();
        assert_eq!(
            (compose.status, compose.error.as_deref()),
            (BuildStatus::Failure, Some(words)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_is_missing_is_not_made_up() {
    let compose = status(&json!({"image_status": {"status": "pending"}})).await.unwrap();
    assert_eq!((compose.error, compose.upload, compose.progress), (None, None, None));
    assert_eq!((compose.architecture, compose.image_type), (None, None));
    let body = json!({
        "image_status": {"status": "success", "upload_status": {
            "status": "success", "type": "gcp", "options": {"project_id": "p", "image_name": "i"}}},
        "request": {"image_requests": [{"architecture": "sparc", "image_type": "gcp"}]},
    });
    let compose = status(&body).await.unwrap();
    let upload = compose.upload.unwrap();
    assert_eq!((upload.kind.as_str(), upload.ami, upload.region), ("gcp", None, None));
    assert_eq!(upload.options["image_name"], "i");
    assert_eq!((compose.architecture, compose.image_type.as_deref()), (None, Some("gcp")));
}
