//! `notice.deliver` against the inbox and the brokers of the sandbox.

use std::time::Duration;

use ::identity;
use ::launch::workflows::notice::{
    self, NOTIFICATIONS_TOPIC, Notice, NoticeSubject, Notices, SOURCES_STATUS_TOPIC,
};
use engine::{Phase, PhaseVerb};
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};

use crate::notice_post::{ID, NoticePost, engine_with, finished, launch_succeeded};

#[tokio::test]
async fn passes_all_workflow_tests() {
    let post = NoticePost::open().await;
    workflow_test::check_all(&post).await;
}

#[tokio::test]
async fn a_launch_is_told_to_everyone_once_in_the_words_of_the_platform() {
    let post = NoticePost::open().await;
    let test_engine = post.test_engine().await;
    for _ in 0..2 {
        notice::post(&test_engine.engine, &launch_succeeded()).await.unwrap();
    }
    let ended = finished(&test_engine).await;
    assert_eq!(ended.len(), 2, "one operation for each way");
    for operation in &ended {
        assert_eq!(operation.shown.summary.phase, Phase::Succeeded, "{:?}", operation.memory.last_error);
        assert_eq!(operation.shown.summary.tenant, "org:org-1");
    }
    let (letters, messages) = (post.letters().await, post.topic(NOTIFICATIONS_TOPIC).await);
    assert_eq!((letters.len(), messages.len()), (1, 1));
    let expect = json!({
        "version": "v2.0.0",
        "bundle": "rhel",
        "application": "image-builder",
        "event_type": "launch-success",
        "timestamp": "2026-02-03T04:05:06.789",
        "account_id": "13",
        "org_id": "org-1",
        "context": {"launch_id": 7, "provider": "aws"},
        "events": [{"payload": {"instance_id": "i-1"}}, {"payload": {"instance_id": "i-2"}}],
        "recipients": [],
        "id": ID.to_string(),
    });
    assert_eq!(letters[0]["body"], expect);
    assert_eq!(letters[0]["text"], messages[0]["payload"]);
    assert_eq!(letters[0]["headers"]["idempotency-key"], json!(ID.to_string()));
    let headers = &messages[0]["headers"];
    assert_eq!((&messages[0]["key"], &headers["rh-message-id"]), (&Value::Null, &json!(ID.to_string())));
    let who = identity::parse(headers["x-rh-identity"].as_str().unwrap()).unwrap().organisation().unwrap();
    assert_eq!((who.org.as_str(), who.account.as_deref()), ("org-1", Some("13")));
}

#[tokio::test]
async fn the_state_of_a_source_is_told_to_the_platform_alone() {
    let post = NoticePost::open().await;
    let test_engine = post.test_engine().await;
    let error = Some("cannot log in".into());
    let about = NoticeSubject::SourceStatus { application: "77".into(), is_available: false, error };
    notice::post(&test_engine.engine, &Notice { about, ..launch_succeeded() }).await.unwrap();
    assert_eq!(finished(&test_engine).await.len(), 1);
    let messages = post.topic(SOURCES_STATUS_TOPIC).await;
    let body: Value = serde_json::from_str(messages[0]["payload"].as_str().unwrap()).unwrap();
    let expect = json!({
        "resource_id": "77",
        "resource_type": "Application",
        "status": "unavailable",
        "error": "cannot log in",
    });
    assert_eq!((messages.len(), &messages[0]["key"], body), (1, &json!("77"), expect));
    let headers = &messages[0]["headers"];
    assert_eq!(headers["event_type"], "availability_status");
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(
        (&headers["x-rh-sources-org-id"], &headers["x-rh-sources-account-number"]),
        (&json!("org-1"), &json!("13"))
    );
    assert!(post.letters().await.is_empty());
}

#[tokio::test]
async fn a_lost_answer_brings_the_same_notice_again() {
    let post = NoticePost::open().await;
    post.call("POST", "/faults", json!({"system": "inbox", "kind": "drop_after"})).await;
    let test_engine = engine_with(&post.webhook_alone()).await;
    notice::post(&test_engine.engine, &launch_succeeded()).await.unwrap();
    let ended = finished(&test_engine).await;
    assert_eq!(ended[0].shown.summary.phase, Phase::Succeeded, "{:?}", ended[0].memory.last_error);
    let letters = post.letters().await;
    assert_eq!(letters.len(), 2);
    for part in ["text", "body"] {
        assert_eq!(letters[0][part], letters[1][part]);
    }
    assert_eq!(letters[0]["headers"]["idempotency-key"], letters[1]["headers"]["idempotency-key"]);
}

#[tokio::test]
async fn failure_is_tried_again_and_an_error_is_left_for_an_operator() {
    let post = NoticePost::open().await;
    for fault in [json!({"status": 500, "times": 3}), json!({"status": 422})] {
        let mut fault = fault;
        (fault["system"], fault["kind"]) = (json!("inbox"), json!("error"));
        post.call("POST", "/faults", fault).await;
    }
    let test_engine = engine_with(&post.webhook_alone()).await;
    notice::post(&test_engine.engine, &launch_succeeded()).await.unwrap();
    let ended = finished(&test_engine).await.remove(0);
    let id = ended.shown.summary.id;
    assert_eq!(test_engine.kinds(id).await, "created stepped retried retried retried finished");
    assert_eq!(ended.shown.summary.phase, Phase::Failed);
    let error = ended.memory.last_error.unwrap();
    assert_eq!(error.step, "to_webhook");
    assert!(error.cause.to_string().contains("422"), "{}", error.cause);
    assert!(post.letters().await.is_empty());
    test_engine.engine.ask(id, PhaseVerb::Retry, "operator", "it is mended").await.unwrap();
    test_engine.until(id, |phase| phase == Phase::Succeeded).await;
    assert_eq!(post.letters().await.len(), 1);
}

#[tokio::test]
async fn what_one_has_heard_is_not_repeated_while_the_other_is_deaf() {
    let post = NoticePost::open().await;
    post.call("POST", "/faults", json!({"system": "inbox", "kind": "error", "times": 3})).await;
    let test_engine = post.test_engine().await;
    let id = test_engine.submit("notice.deliver", None, json!(launch_succeeded())).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!((post.topic(NOTIFICATIONS_TOPIC).await.len(), post.letters().await.len()), (1, 1));
}

#[tokio::test]
async fn a_way_that_is_blocked_does_not_hold_up_the_other() {
    let post = NoticePost::open().await;
    let test_engine = post.test_engine().await;
    post.call("PUT", "/kafka", json!({"down": true})).await;
    notice::post(&test_engine.engine, &launch_succeeded()).await.unwrap();
    let arrives = async {
        while post.letters().await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), arrives).await.expect("the inbox is open");
    post.call("PUT", "/kafka", json!({"down": false})).await;
    for operation in finished(&test_engine).await {
        assert_eq!(operation.shown.summary.phase, Phase::Succeeded, "{:?}", operation.memory.last_error);
    }
    assert_eq!(post.standing().await.len(), 2);
}

#[tokio::test]
async fn no_one_is_told_where_no_one_is_configured() {
    let test_engine = engine_with(&Notices::none()).await;
    notice::post(&test_engine.engine, &launch_succeeded()).await.unwrap();
    assert!(finished(&test_engine).await.is_empty());
    let id = test_engine.submit("notice.deliver", None, json!(launch_succeeded())).await;
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
}

#[tokio::test]
async fn a_notice_that_makes_no_sense_is_refused_with_the_field() {
    let test_engine = engine_with(&Notices::beside("http://127.0.0.1:1").unwrap()).await;
    let deep = (0..20).fold(json!(1), |inner, _| json!([inner]));
    for (path, value, part) in [
        ("/org", json!("two words"), "org must have"),
        ("/account", json!(""), "account must have"),
        ("/at", json!("yesterday"), "at: "),
        ("/id", json!("7"), "id: "),
        ("/about/event", json!("x".repeat(129)), "about.event must have"),
        ("/about/events", json!(vec![1; 501]), "about.events may have 500"),
        ("/about/events", json!([deep]), "about.events may be nested 16"),
        ("/about/kind", json!("party"), "unknown variant `party`"),
    ] {
        let mut params = json!(launch_succeeded());
        *params.pointer_mut(path).unwrap() = value;
        let command = engine::Command {
            name: None,
            workflow: "notice.deliver".into(),
            tenant: "t".into(),
            resource: None,
            params,
            by: "t".into(),
            idempotency_key: None,
            queue: false,
        };
        let error = test_engine.engine.submit_json(command).await.unwrap_err().to_string();
        assert!(error.contains(part), "{path}: {error}");
    }
}
