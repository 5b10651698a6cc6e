//! External steps: what goes over the wire, and what becomes of answers that no decent service would give.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::Timestamp;
use engine::secret::{ExposeSecret, SecretString};
use external_step::{ExternalService, OwnerContext, StepContext, StepRequest, StepResponse, Verdict};
use http_client::DriverError;
use serde_json::{Map, Value, json};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const CANARY: &str = "canary-7f3a";
const NOW: Timestamp = Timestamp(1_700_000_000_999_999);
const TIMEOUT: Duration = Duration::from_secs(20);

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/step", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn service(url: &str, timeout: Duration) -> ExternalService {
    ExternalService::new("external:motto", url, SECRET.into(), timeout).unwrap()
}

fn call(facts: &Map<String, Value>) -> StepRequest<'_> {
    let operation = StepContext { id: "op-1", workflow: "runtime.provision", token: "op-1-abc" };
    let instance = OwnerContext {
        instance_id: "i-1",
        plan: "azure",
        plan_id: "p-1",
        provider: "azure",
        region: "westeurope",
        account: "ga-1",
        subaccount: "sa-1",
        shoot: "c-1234567",
        runtime_id: None,
    };
    StepRequest::new("motto", operation, instance, facts)
}

/// What the driver makes of this answer.
async fn answered(
    answer: impl IntoResponse + Clone + Send + Sync + 'static,
) -> Result<StepResponse, DriverError> {
    let router = Router::new().fallback(move || async move { answer.clone() });
    service(&serve(router).await, TIMEOUT).call(&call(&Map::new()), NOW).await
}

async fn error(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> DriverError {
    let Err(error) = answered(answer).await else { panic!("this answer is wrong") };
    assert!(!format!("{error} {error:?}").contains(CANARY), "{error}");
    error
}

#[tokio::test]
async fn a_call_says_what_the_contract_says_and_is_signed() {
    let seen = Arc::new(Mutex::new(None));
    let router = Router::new().fallback({
        let seen = Arc::clone(&seen);
        move |headers: HeaderMap, body: Bytes| async move {
            *seen.lock().unwrap() = Some((headers, body));
            r#"{"outcome":"wait","after_seconds":7,"reason":"still at it","secret_facts":{"k":"v"}}"#
        }
    });
    let service = service(&serve(router).await, TIMEOUT);
    let facts = json!({"seen": 1}).as_object().unwrap().clone();
    let answer = service.call(&call(&facts), NOW).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((answer.outcome, answer.after_seconds), (Verdict::Wait, Some(7)));
    assert_eq!(answer.secret_facts.unwrap()["k"].expose_secret(), "v");
    assert!(answer.facts.is_none());

    let (headers, body) = seen.lock().unwrap().take().unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&body).unwrap(),
        json!({
            "version": 1, "step": "motto", "facts": {"seen": 1},
            "operation": {"id": "op-1", "workflow": "runtime.provision", "token": "op-1-abc"},
            "instance": {
                "instance_id": "i-1", "plan": "azure", "plan_id": "p-1", "provider": "azure",
                "region": "westeurope", "account": "ga-1", "subaccount": "sa-1", "shoot": "c-1234567",
                "runtime_id": null,
            },
        })
    );
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["idempotency-key"], "op-1-abc");
    assert_eq!(headers["provision-engine-timestamp"], "1700000000");
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = aws_lc_rs::hmac::sign(&key, &[b"1700000000.", &body[..]].concat());
    let hex = tag.as_ref().iter().fold(String::from("v1="), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(headers["provision-engine-signature"], hex.as_str());
}

#[tokio::test]
async fn only_what_is_handed_over_is_told() {
    let router = Router::new().fallback(|body: Bytes| async move {
        let body: Value = serde_json::from_slice(&body).unwrap();
        json!({"outcome": "done", "facts": {"heard": body}}).to_string()
    });
    let service = service(&serve(router).await, TIMEOUT);
    let none = Map::new();
    let mut call = call(&none);
    let heard = service.call(&call, NOW).await.unwrap_or_else(|error| panic!("{error}")).facts.unwrap();
    for key in ["parameters", "context", "secret_facts"] {
        assert!(heard["heard"].get(key).is_none(), "{key}");
    }
    call.parameters = json!({"name": "n"}).as_object().cloned();
    call.context = json!({"password": "p"}).as_object().cloned();
    call.secret_facts.insert("k".into(), SecretString::from("v"));
    let heard = service.call(&call, NOW).await.unwrap_or_else(|error| panic!("{error}")).facts.unwrap();
    assert_eq!(heard["heard"]["parameters"], json!({"name": "n"}));
    assert_eq!(heard["heard"]["context"], json!({"password": "p"}));
    assert_eq!(heard["heard"]["secret_facts"], json!({"k": "v"}));
    assert!(!format!("{service:?}").contains(SECRET));
}

#[tokio::test]
async fn a_wrong_answer_is_tried_again_and_the_error_names_the_field_but_no_value() {
    let deep = format!(r#"{{"outcome":"done","facts":{{"a":{}{}}}}}"#, "[".repeat(40), "]".repeat(40));
    let huge = format!(r#"{{"outcome":"done","reason":"{}"}}"#, "x".repeat(300 * 1024));
    for (body, part) in [
        (CANARY.to_owned(), "not a JSON object"),
        (format!("{{{CANARY}"), "not JSON, from line 1"),
        (String::new(), "not JSON"),
        (format!("[\"{CANARY}\"]"), "outcome"),
        (format!("\"{CANARY}\""), "not a JSON object"),
        ("{}".into(), "missing field `outcome`"),
        (format!(r#"{{"outcome":"{CANARY}"}}"#), "outcome must be done, wait, retry or fail"),
        (r#"{"outcome":"done","fact":{}}"#.into(), "unknown field `fact`"),
        (r#"{"outcome":"done","outcome":"wait"}"#.into(), "duplicate field `outcome`"),
        (r#"{"outcome":"wait","after_seconds":-1}"#.into(), "after_seconds cannot be used"),
        (format!(r#"{{"outcome":"done","facts":"{CANARY}"}}"#), "facts cannot be used"),
        (format!(r#"{{"outcome":"done","secret_facts":{{"k":["{CANARY}"]}}}}"#), "secret_facts"),
        (r#"{"outcome":"done","overrides":[{"key":"k"}]}"#.into(), "missing field `value`"),
        (r#"{"outcome":"done","overrides":[{"key":"","value":"v"}]}"#.into(), "overrides[0].key must have"),
        (
            format!(r#"{{"outcome":"done","overrides":[{{"key":"k","value":"{CANARY}","secrt":true}}]}}"#),
            "unknown field `secrt`",
        ),
        (
            r#"{"outcome":"done","overrides":[{"component":null,"key":"k","value":"v","set":true}]}"#.into(),
            "overrides[0].set needs a component",
        ),
        (format!(r#"{{"outcome":"done"}} {CANARY}"#), "after the answer"),
        (deep, "nested 32 times"),
        (huge, "longer than 262144 bytes"),
    ] {
        let error = error(body.clone()).await;
        assert!(matches!(error, DriverError::Broken { .. }), "{body:.80}: {error}");
        assert!(error.to_string().contains(part), "{body:.80}: {error}");
    }
}

#[tokio::test]
async fn a_status_decides_whether_asking_again_can_help() {
    let error_body = format!(r#"{{"reason":"no such tenant","echo":"{CANARY}"}}"#);
    for (status, is_final) in [
        (400, true),
        (401, true),
        (403, true),
        (404, true),
        (409, true),
        (422, true),
        (408, false),
        (425, false),
        (429, false),
        (500, false),
        (502, false),
        (503, false),
        (201, false),
        (204, false),
        (302, false),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let error = error((status, error_body.clone())).await;
        assert_eq!(error.is_final(), is_final, "{status}: {error}");
        if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::NO_CONTENT {
            assert!(error.to_string().contains("no such tenant"), "{status}: {error}");
        }
        let error = self::error((status, CANARY)).await;
        assert_eq!(error.is_final(), is_final, "{status}: {error}");
    }
    for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
        let error = error((status, [("retry-after", "17")])).await;
        assert!(
            matches!(error, DriverError::Throttled { retry_after, .. } if retry_after.as_secs() == 17),
            "{error}"
        );
    }
}

#[tokio::test]
async fn silence_and_dripping_end_after_the_timeout() {
    async fn silent() -> Response {
        std::future::pending().await
    }
    /// One byte now and then, for ever.
    async fn dripping() -> Response {
        let drops = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, std::io::Error>(" "), ()))
        });
        Body::from_stream(drops).into_response()
    }
    let router = Router::new().route("/silent/step", axum::routing::post(silent));
    let router = router.route("/dripping/step", axum::routing::post(dripping));
    let url = serve(router).await;
    for path in ["silent", "dripping"] {
        let url = url.replace("/step", &format!("/{path}/step"));
        let service = service(&url, Duration::from_millis(150));
        let Err(error) = service.call(&call(&Map::new()), NOW).await else { panic!("there was no answer") };
        assert!(matches!(error, DriverError::Unreachable { .. }), "{path}: {error}");
    }
}

#[test]
fn only_https_and_this_machine_are_called() {
    for (url, is_good) in [
        ("https://steps.example/motto", true),
        ("http://127.0.0.1:8080/", true),
        ("http://[::1]:8080/", true),
        ("http://localhost/", true),
        ("http://steps.example/motto", false),
        ("http://127.0.0.1.example/", false),
        ("http://10.0.0.1/", false),
        ("ftp://localhost/", false),
        ("https://user:pw@steps.example/", false),
        ("motto", false),
    ] {
        let made = ExternalService::new("external:motto", url, SECRET.into(), TIMEOUT);
        assert_eq!(made.is_ok(), is_good, "{url}");
    }
}

#[tokio::test]
async fn the_answer_of_the_guide_is_a_good_one() {
    const GUIDE: &str = include_str!("../../../../../docs/guide/external-steps.md");
    let example = GUIDE.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let answer = answered(example).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((answer.outcome, answer.overrides.len()), (Verdict::Done, 3));
    let secret: Vec<bool> = answer.overrides.iter().map(|one| one.secret).collect();
    assert_eq!(secret, [false, true, false]);
    // The test of the signature has the same one.
    assert!(GUIDE.contains("v1=52229127cd0f82d5f3c28179ba1d157abf821110685c703270bc7251d47900a9"));
}
