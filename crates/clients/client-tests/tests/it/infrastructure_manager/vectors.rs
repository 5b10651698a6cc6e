//! Exchanges with a real kube-apiserver 1.33, as facts: the sandbox answers alike, and the client understands them.

use std::collections::HashMap;
use std::time::Duration;

use ::infrastructure_manager::{
    Creation, Deletion, Patch, PatchedRuntime, RuntimeResources, WriteMode, merge,
};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use client_tests::{TestSandbox, TestServer};
use http_client::DriverError;
use reqwest::{Client, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{NAME, access, resources_at, runtime};

const RUNTIMES: &str = "/apis/infrastructuremanager.kyma-project.io/v1/namespaces/kcp-system/runtimes";

#[derive(Deserialize)]
struct VectorFile {
    /// The object that a `runtime` of an exchange changes.
    runtime: Value,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Exchange {
    title: String,
    user: String,
    method: String,
    path: String,
    content_type: Option<String>,
    body: Option<Value>,
    runtime: Option<Value>,
    status: u16,
    /// Members that the answer has.
    answer: Value,
    /// Members that it does not have.
    absent: Vec<String>,
    text: Option<String>,
    contains: Option<String>,
    warning: Option<String>,
    /// Names for members of the answer, which later exchanges use with a dollar.
    save: HashMap<String, String>,
    /// What the client makes of this answer to one of its calls.
    client: Option<(String, String)>,
}

fn vectors() -> VectorFile {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

/// Whether the answer has all these members; lists are compared item by item.
fn has(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| has(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| has(found, wanted))
        }
        _ => found == wanted,
    }
}

fn filled(text: &str, saved: &HashMap<String, String>) -> String {
    let mut text = text.replace("{RT}", RUNTIMES);
    for (name, value) in saved {
        text = text.replace(&format!("${name}"), value);
    }
    text
}

#[tokio::test]
async fn the_sandbox_answers_as_a_real_api_server() {
    let fixture = TestSandbox::new().await;
    let vectors = vectors();
    let mut tokens = HashMap::from([("wrong".to_owned(), "x".to_owned())]);
    for user in ["admin", "keb", "kim"] {
        let ::infrastructure_manager::ApiAccess::Kubeconfig(yaml) = access(&fixture, user).await else {
            panic!("a kubeconfig was expected")
        };
        let yaml = engine::secret::ExposeSecret::expose_secret(&yaml).to_owned();
        let token = yaml.split("token: \"").nth(1).unwrap().trim().trim_end_matches('"').to_owned();
        tokens.insert(user.to_owned(), token);
    }
    let mut saved = HashMap::new();
    for exchange in &vectors.exchanges {
        replay(&fixture.client, &fixture.url(""), &vectors.runtime, &tokens, exchange, &mut saved).await;
    }
}

async fn replay(
    client: &Client,
    base: &str,
    runtime: &Value,
    tokens: &HashMap<String, String>,
    exchange: &Exchange,
    saved: &mut HashMap<String, String>,
) {
    let title = &exchange.title;
    let url = format!("{base}/infrastructure-manager{}", filled(&exchange.path, saved));
    let method: Method = exchange.method.parse().unwrap();
    let is_patch = method == Method::PATCH;
    let mut request = client.request(method, url);
    if let Some(token) = tokens.get(&exchange.user) {
        request = request.bearer_auth(token);
    }
    let body = exchange.runtime.as_ref().map(|changes| {
        let mut body = runtime.clone();
        merge(&mut body, changes);
        body
    });
    if let Some(body) = body.or_else(|| exchange.body.clone()) {
        let content_type = if is_patch { "application/merge-patch+json" } else { "application/json" };
        let content_type = exchange.content_type.as_deref().unwrap_or(content_type);
        request = request.header(header::CONTENT_TYPE, content_type).body(filled(&body.to_string(), saved));
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let warning = answer.headers().get(header::WARNING).map(|value| value.to_str().unwrap().to_owned());
    let text = answer.text().await.unwrap();
    assert_eq!(status, exchange.status, "{title}: {text}");
    if let Some(expect) = &exchange.text {
        assert_eq!(text.trim_end(), expect, "{title}");
        return;
    }
    let found: Value = serde_json::from_str(&text).unwrap();
    let wanted: Value = serde_json::from_str(&filled(&exchange.answer.to_string(), saved)).unwrap();
    assert!(wanted.is_null() || has(&found, &wanted), "{title}:\n{found}\ndoes not have\n{wanted}");
    for pointer in &exchange.absent {
        assert!(found.pointer(pointer).is_none(), "{title}: {pointer} in {found}");
    }
    if let Some(part) = &exchange.contains {
        assert!(found["message"].to_string().contains(part.as_str()), "{title}: {found}");
    }
    assert_eq!(warning, exchange.warning, "{title}");
    for (name, pointer) in &exchange.save {
        let value = found.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        saved.insert(name.clone(), value);
    }
}

#[tokio::test]
async fn the_client_understands_the_answers_of_a_real_api_server() {
    for exchange in vectors().exchanges {
        let Some((call, expect)) = &exchange.client else { continue };
        let status = StatusCode::from_u16(exchange.status).unwrap();
        let body = match (&exchange.text, &exchange.contains) {
            (Some(text), _) => text.clone(),
            (None, Some(part)) => {
                let message =
                    format!(" \"\" {part}\"{{hunter2}}\": strict decoding error: unknown field \"a\"");
                json!({"kind": "Status", "reason": "Invalid", "message": message, "code": 422}).to_string()
            }
            _ => exchange.answer.to_string(),
        };
        let fake = TestServer::start(move |_| (status, body.clone()).into_response()).await;
        let resources = resources_at(&fake.url, Duration::from_secs(20));
        let found = outcome(&resources, call).await;
        assert_eq!(found, *expect, "{}", exchange.title);
        for arrival in fake.arrivals() {
            let is_strict = arrival.path.contains("fieldValidation=Strict");
            assert_eq!(is_strict, call.contains("create") || call.contains("patch"), "{}", arrival.path);
        }
    }
}

async fn outcome(resources: &dyn RuntimeResources, call: &str) -> String {
    let mode = if call.starts_with("dry_run") { WriteMode::DryRun } else { WriteMode::Apply };
    let done = match call.trim_start_matches("dry_run_") {
        "get" => resources.get(NAME).await.map(|found| if found.is_some() { "some" } else { "none" }.into()),
        "create" => resources.create(&runtime(NAME), mode).await.map(|created| match created {
            Creation::Created(_) => "created".into(),
            Creation::Exists(_) => "exists".into(),
            Creation::DryRun => "dry_run".into(),
        }),
        "patch" => resources.patch(NAME, &Patch::default(), mode).await.map(|patched| match patched {
            PatchedRuntime::Patched(_) => "patched".into(),
            PatchedRuntime::Conflict => "conflict".into(),
            PatchedRuntime::Absent => "absent".into(),
            PatchedRuntime::DryRun => "dry_run".into(),
        }),
        "delete" => resources.delete(NAME, Some("u"), mode).await.map(|deleted| match deleted {
            Deletion::Gone => "gone".into(),
            Deletion::Waiting(_) => "waiting".into(),
            Deletion::OtherUid => "other_uid".into(),
            Deletion::DryRun => "dry_run".into(),
        }),
        "list" => resources.list(Some("a=b"), None).await.map(|list| list.items.len().to_string()),
        "kubeconfig" => {
            resources.kubeconfig(NAME).await.map(|found| if found.is_some() { "some" } else { "none" }.into())
        }
        other => panic!("{other}"),
    };
    done.unwrap_or_else(|error| {
        assert!(!error.to_string().contains("hunter2"), "{error}");
        match error {
            DriverError::Refused { .. } => "refused".into(),
            DriverError::Broken { .. } => "broken".into(),
            DriverError::Throttled { .. } => "throttled".into(),
            DriverError::Unreachable { .. } => "unreachable".into(),
        }
    })
}

/// Answers that are no JSON, or not what they say they are.
#[tokio::test]
async fn throttling_and_timeouts_are_tried_again() {
    let timeout = r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}"#;
    for (status, retry_after, body, expect) in [
        (429, Some("1"), "Too many requests, please try again later.", "throttled"),
        (503, Some("5"), r#"{"kind":"Status","reason":"ServiceUnavailable","code":503}"#, "throttled"),
        (504, None, timeout, "broken"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let fake = TestServer::start(move |_| {
            let mut response = (status, body).into_response();
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.parse().unwrap());
            }
            response
        })
        .await;
        let resources = resources_at(&fake.url, Duration::from_secs(20));
        for call in ["get", "create", "patch", "delete", "list", "kubeconfig"] {
            assert_eq!(outcome(&resources, call).await, expect, "{status} {call}");
        }
    }
}
