//! Sources' driver against the sandbox, and against external systems that no decent server would be.

use std::time::Duration;

use client_tests::{TIMEOUT, TestSandbox, answering};
use cloud::{Access, ProviderKind};
use engine::secret::ExposeSecret;
use http_client::DriverError;
use identity::Organisation;
use serde_json::{Value, json};
use sources::SourcesApi;

fn who() -> Organisation {
    Organisation { org: "org-1".into(), account: Some("13".into()) }
}

fn sources(fixture: &TestSandbox) -> SourcesApi {
    SourcesApi::new(&fixture.url("/api/sources/v3.1"), TIMEOUT).unwrap()
}

async fn add(fixture: &TestSandbox, source: Value) {
    fixture.post("/sources/known", &source).await;
}

#[tokio::test]
async fn sources_are_listed_by_cloud() {
    let fixture = TestSandbox::new().await;
    let sources = sources(&fixture);
    sources.ready(&who()).await.unwrap();
    let all = sources.list(&who(), None).await.unwrap();
    let seen: Vec<_> = all.iter().map(|one| (one.id.as_str(), one.provider)).collect();
    let expected = [("1", ProviderKind::Aws), ("2", ProviderKind::Azure), ("3", ProviderKind::Gcp)];
    assert_eq!(seen, expected);
    assert_eq!((all[0].name.as_str(), all[0].status.as_deref()), ("Amazon account", Some("available")));
    assert!(all[0].uid.is_some());
    for (id, provider) in expected {
        let some = sources.list(&who(), Some(provider)).await.unwrap();
        assert_eq!(some.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [id]);
    }
    assert_eq!(sources.list(&who(), Some(ProviderKind::Noop)).await.unwrap(), []);
}

#[tokio::test]
async fn every_page_is_read() {
    let fixture = TestSandbox::new().await;
    for number in 100..320 {
        let (id, account) = (number.to_string(), "arn:aws:iam::1:role/r");
        add(&fixture, json!({"id": id, "name": "n", "provider": "aws", "account": account})).await;
    }
    let all = sources(&fixture).list(&who(), Some(ProviderKind::Aws)).await.unwrap();
    assert_eq!(all.len(), 221);
}

#[tokio::test]
async fn a_source_leads_to_its_account() {
    let fixture = TestSandbox::new().await;
    let sources = sources(&fixture);
    let account = sources.account(&who(), "1").await.unwrap().unwrap();
    assert_eq!((account.source.as_str(), account.provider), ("1", ProviderKind::Aws));
    let Access::Role { arn, external_id: None } = account.access else { panic!("{account:?}") };
    assert_eq!(arn, "arn:aws:iam::123456789012:role/launch");
    for (id, provider, name) in [
        ("2", ProviderKind::Azure, "4b9d213f-712f-4d17-a483-8a10bbe9df3a"),
        ("3", ProviderKind::Gcp, "sandbox-project-7"),
    ] {
        let account = sources.account(&who(), id).await.unwrap().unwrap();
        assert_eq!(account.provider, provider);
        assert!(matches!(&account.access, Access::Name(found) if found == name), "{account:?}");
    }
    assert_eq!(sources.link(&who(), "1").await.unwrap().unwrap().application.as_deref(), Some("10"));
}

#[tokio::test]
async fn a_source_of_others_or_for_others_is_none() {
    let fixture = TestSandbox::new().await;
    let source = |id: &str, org: Value, account: Value| {
        json!({
            "id": id, "name": "n", "provider": "aws", "org": org, "account": account, "external_id": "hunter2",
        })
    };
    add(&fixture, source("7", json!("org-2"), json!("arn:aws:iam::123456789012:role/r"))).await;
    add(&fixture, source("8", Value::Null, Value::Null)).await;
    let sources = sources(&fixture);
    for id in ["7", "8", "77", "", ".", "..", "1/../2", "1 2", &"1".repeat(65)] {
        assert!(sources.account(&who(), id).await.unwrap().is_none(), "{id:?}");
    }
    let other = Organisation { org: "org-2".into(), account: None };
    let account = sources.account(&other, "7").await.unwrap().unwrap();
    assert!(!format!("{account:?}").contains("hunter2"));
    let Access::Role { external_id, .. } = account.access else { panic!() };
    assert_eq!(external_id.unwrap().expose_secret(), "hunter2");
    let listed = sources.list(&who(), None).await.unwrap();
    assert!(listed.iter().all(|one| !["7", "8"].contains(&one.id.as_str())), "{listed:?}");
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_told() {
    let fixture = TestSandbox::new().await;
    for (provider, account) in [("aws", "role/launch"), ("aws", " "), ("azure", ""), ("gcp", "a b")] {
        add(&fixture, json!({"id": "9", "name": "n", "provider": provider, "account": account})).await;
        let error = sources(&fixture).account(&who(), "9").await.unwrap_err();
        assert!(error.to_string().contains("source 9 has no usable name"), "{error}");
    }
}

#[tokio::test]
async fn errors_are_sorted() {
    let fixture = TestSandbox::new().await;
    let sources = sources(&fixture);
    let arm = async |fault: Value| fixture.arm("sources", fault).await;
    arm(json!({"kind": "error", "status": 500})).await;
    assert!(matches!(sources.list(&who(), None).await, Err(DriverError::Broken { .. })));
    arm(json!({"kind": "garbage"})).await;
    assert!(matches!(sources.account(&who(), "1").await, Err(DriverError::Broken { .. })));
    arm(json!({"kind": "error", "status": 403})).await;
    assert!(matches!(sources.account(&who(), "1").await, Err(DriverError::Refused { .. })));
    arm(json!({"kind": "drop_before"})).await;
    assert!(matches!(sources.ready(&who()).await, Err(DriverError::Unreachable { .. })));
    arm(json!({"kind": "error", "status": 429, "retry_after_s": 4})).await;
    let retry_after = Duration::from_secs(4);
    assert_eq!(sources.ready(&who()).await, Err(DriverError::Throttled { system: "sources", retry_after }));
}

#[tokio::test]
async fn answers_that_cannot_be_read_are_broken() {
    for body in ["", "{}", "[]", r#"{"data":[{"id":7,"name":"x"}]}"#, r#"{"data":[]}"#] {
        let sources = SourcesApi::new(&answering(200, body).await, TIMEOUT).unwrap();
        let error = sources.list(&who(), None).await.unwrap_err();
        assert!(matches!(error, DriverError::Broken { .. }), "{body}: {error:?}");
    }
    let sources = SourcesApi::new(&answering(200, r#"{"data":[{"authtype":7}]}"#).await, TIMEOUT).unwrap();
    assert!(matches!(sources.account(&who(), "1").await, Err(DriverError::Broken { .. })));
}

#[tokio::test]
async fn only_what_an_application_was_given_lets_us_in() {
    for (resource, authtype, is_ours) in [
        ("Application", "provisioning-arn", true),
        ("Source", "provisioning-arn", false),
        ("Application", "arn", false),
    ] {
        let one =
            json!({"resource_type": resource, "authtype": authtype, "username": "arn:aws:iam::1:role/r"});
        let body = json!({"data": [{}, one]}).to_string();
        let sources = SourcesApi::new(&answering(200, body).await, TIMEOUT).unwrap();
        assert_eq!(sources.account(&who(), "1").await.unwrap().is_some(), is_ours, "{resource} {authtype}");
    }
}
