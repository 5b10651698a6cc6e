//! Webhooks: what goes over the wire, and what an answer means.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use engine::Timestamp;
use engine::secret::SecretString;
use http_client::DriverError;
use webhook::Webhook;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const CANARY: &str = "canary-7f3a";
const NOW: Timestamp = Timestamp(1_700_000_000_999_999);
const TIMEOUT: Duration = Duration::from_secs(20);

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// What the driver makes of this answer.
async fn error(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> DriverError {
    let router = Router::new().fallback(move || async move { answer.clone() });
    let webhook = Webhook::new(&serve(router).await, Some(SECRET.into()), TIMEOUT).unwrap();
    let error = webhook.send("id-1", "{}", NOW).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(CANARY), "{error}");
    error
}

type ReceivedWebhooks = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

async fn fake() -> (String, ReceivedWebhooks) {
    let seen = ReceivedWebhooks::default();
    let kept = Arc::clone(&seen);
    let keep = move |headers: HeaderMap, body: Bytes| async move {
        kept.lock().unwrap().push((headers, body));
        StatusCode::ACCEPTED
    };
    (serve(Router::new().fallback(keep)).await, seen)
}

#[tokio::test]
async fn a_message_is_signed_and_carries_its_id() {
    let (url, seen) = fake().await;
    let webhook = Webhook::new(&url, Some(SECRET.into()), TIMEOUT).unwrap();
    for _ in 0..2 {
        webhook.send("id-1", r#"{"a":"ä"}"#, NOW).await.unwrap();
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1, seen[1].1);
    for (headers, body) in seen.iter() {
        assert_eq!(headers["idempotency-key"], "id-1");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["provision-engine-timestamp"], "1700000000");
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        let signed = [b"1700000000.".as_slice(), body].concat();
        let signature = headers["provision-engine-signature"].to_str().unwrap();
        let signature = unhex(signature.strip_prefix("v1=").unwrap());
        assert!(hmac::verify(&key, &signed, &signature).is_ok());
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

#[tokio::test]
async fn without_a_secret_nothing_is_signed() {
    let (url, seen) = fake().await;
    Webhook::new(&url, None, TIMEOUT).unwrap().send("id-1", "{}", NOW).await.unwrap();
    assert!(!seen.lock().unwrap()[0].0.contains_key("provision-engine-signature"));
}

#[tokio::test]
async fn an_answer_says_whether_to_come_again() {
    for status in [400, 401, 403, 404, 409, 410, 413, 422, 301, 307] {
        let error = error((StatusCode::from_u16(status).unwrap(), CANARY)).await;
        assert!(error.is_final() && error.to_string().contains(&status.to_string()), "{error}");
    }
    for status in [408, 425, 500, 502, 503] {
        let error = error((StatusCode::from_u16(status).unwrap(), CANARY)).await;
        assert!(matches!(error, DriverError::Broken { .. }), "{error}");
    }
    for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
        let error = error((status, [("retry-after", "7")])).await;
        let asked = DriverError::Throttled { system: "webhook", retry_after: Duration::from_secs(7) };
        assert_eq!(error, asked);
    }
}

#[tokio::test]
async fn no_one_there_is_not_the_end() {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Webhook::new(&url, None, TIMEOUT).unwrap().send("id-1", "{}", NOW).await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn what_cannot_be_sent_safely_is_refused_before_it_is() {
    for url in ["http://example.com/hook", "ftp://127.0.0.1/", "https://user:word@127.0.0.1/", "nonsense"] {
        let error = Webhook::new(url, None, TIMEOUT).unwrap_err();
        assert!(error.is_final() && !error.to_string().contains("word@"), "{error}");
    }
    let (url, seen) = fake().await;
    let webhook = Webhook::new(&url, Some(SecretString::from(CANARY)), TIMEOUT).unwrap();
    assert!(webhook.send("two\nlines", "{}", NOW).await.unwrap_err().is_final());
    assert!(webhook.send("id-1", &"x".repeat(1_000_001), NOW).await.unwrap_err().is_final());
    assert!(seen.lock().unwrap().is_empty());
    assert!(!format!("{webhook:?}").contains(CANARY));
}
