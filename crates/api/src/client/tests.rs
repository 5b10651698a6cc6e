//! The client against a server that answers what a test says.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use reqwest::{Method, Url};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::*;

static PROBLEM: Api = Api { format: ErrorFormat::Problem, noun: "", question: "is it ours?" };
static OSB: Api = Api { format: ErrorFormat::Osb, noun: "the broker at ", question: "is it a broker?" };
static INSIGHTS: Api = Api { format: ErrorFormat::Insights, noun: "", question: "does it launch?" };
static COGNIT: Api = Api { format: ErrorFormat::Cognit, noun: "", question: "does it serve?" };

fn client(api: &'static Api, url: &str, auth: Auth) -> Client {
    Client::new(reqwest::Client::builder(), api, url.parse().unwrap(), auth).unwrap()
}

/// Answers one connection with these bytes, and gives what it was asked.
async fn serve(answer: Vec<u8>) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 8192];
        let read = socket.read(&mut bytes).await.unwrap();
        let _ = socket.write_all(&answer).await;
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    });
    (url, asked)
}

fn answer(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn refused(api: &'static Api, status: u16, body: &Value) -> CallError {
    let status = StatusCode::from_u16(status).unwrap();
    client(api, "http://127.0.0.1:1/", Auth::None).refused(status, body.to_string().as_bytes())
}

#[test]
fn a_name_stays_one_segment_whatever_it_contains() {
    let url = |base: &str, path: &[&str]| joined(base.parse().unwrap(), path).map(String::from).ok();
    assert_eq!(url("http://h:1", &["v2", "a/b?c"]).as_deref(), Some("http://h:1/v2/a%2Fb%3Fc"));
    assert_eq!(url("http://h:1/base/", &["v2", "a"]).as_deref(), Some("http://h:1/base/v2/a"));
    assert_eq!((url("http://h:1", &["v2", ".."]), url("http://h:1", &["", "a"])), (None, None));
}

#[test]
fn a_server_of_this_machine_is_known_by_its_address() {
    let is = |url: &str| is_loopback(&url.parse().unwrap());
    assert!(is("http://localhost:1") && is("http://127.0.0.1") && is("http://[::1]:1/a"));
    assert!(!is("http://10.0.0.1") && !is("https://localhost.example"));
}

#[tokio::test]
async fn a_request_has_its_base_its_version_and_its_proof() {
    let (url, asked) = serve(answer("200 OK", "")).await;
    let auth = Auth::Basic { user: "me".into(), password: SecretString::from("s3cret") };
    let client = client(&OSB, &url, auth).below(["oauth", "eu"]).api_version("2.17").unwrap();
    assert!(!format!("{client:?}").contains("s3cret"));
    let request = client.request(Method::GET, &["v2", "catalog"]).unwrap().query(&[("a", "b")]);
    assert_eq!(request.read::<Value>().await.unwrap(), json!({}), "nothing counts as an empty object");
    let asked = asked.await.unwrap().to_lowercase();
    assert!(asked.starts_with("get /oauth/eu/v2/catalog?a=b "), "{asked}");
    assert!(
        asked.contains("x-broker-api-version: 2.17") && asked.contains("authorization: basic "),
        "{asked}"
    );
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_repeated() {
    let (url, _) = serve(answer("200 OK", r#"{"password": "s3cret"}"#)).await;
    let error = client(&PROBLEM, &url, Auth::None).get::<Vec<String>>(&["a"]).await.unwrap_err().to_string();
    let expected = "gave status 200 OK with an answer that cannot be read (line 1, column 0); is it ours?";
    assert!(error.ends_with(expected) && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn an_endless_answer_is_not_read_to_its_end() {
    let mut endless = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    endless.resize(17 * 1024 * 1024, b' ');
    let (url, _) = serve(endless).await;
    let error = client(&PROBLEM, &url, Auth::None).get::<Value>(&["a"]).await.unwrap_err();
    assert!(error.to_string().contains("an endless answer"), "{error}");
}

#[tokio::test]
async fn events_come_one_by_one_until_the_stream_ends() {
    let stream =
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n: hi\n\nevent: end\ndata: {\"a\": 1}\n\ndata: [";
    let (url, asked) = serve(stream.as_bytes().to_vec()).await;
    let client = client(&PROBLEM, &url, Auth::Bearer(SecretString::from("t")));
    let mut events = client.request(Method::GET, &["e"]).unwrap().events().await.unwrap();
    let message = events.next().await.unwrap().unwrap();
    assert_eq!((message.event.as_str(), events.json::<Value>(&message).unwrap()), ("end", json!({"a": 1})));
    assert!(
        events.json::<String>(&message).unwrap_err().to_string().contains("an event that cannot be read")
    );
    assert!(events.next().await.unwrap().is_none());
    assert!(asked.await.unwrap().contains("text/event-stream"));
    let (url, _) = serve(answer("404 Not Found", r#"{"error": "e", "message": "m"}"#)).await;
    let client = super::tests::client(&COGNIT, &url, Auth::None);
    let error = client.request(Method::GET, &["e"]).unwrap().events().await.err().unwrap();
    assert_eq!((error.to_string().as_str(), error.is_absent()), ("e: m", true));
}

#[test]
fn the_status_and_the_format_say_whether_a_second_try_may_help() {
    let problem = json!({"type": "/errors/x", "title": "No", "status": 400, "detail": "d", "code": "x"});
    let insights = json!({
        "msg": "No", "trace_id": "t", "edge_id": "", "error": "region: no\u{1b}[31m", "version": "",
        "build_time": "", "environment": "", "code": "invalid_request",
    });
    let cognit = json!({"error": "the flavours", "message": "why"});
    let osb = json!({"error": "Odd", "description": "why"});
    for status in [400, 401, 404, 408, 409, 422, 423, 429, 500, 502, 503, 504] {
        let heals = matches!(status, 408 | 429 | 502..=504);
        for (api, body, text) in [
            (&PROBLEM, &problem, "No"),
            (&INSIGHTS, &insights, "region: no [31m"),
            (&COGNIT, &cognit, "the flavours: why"),
        ] {
            let error = refused(api, status, body);
            assert_eq!((error.to_string().as_str(), error.may_heal()), (text, heals), "{status}");
            assert_eq!((error.status(), error.is_absent()), (Some(status), status == 404));
        }
        assert_eq!(refused(&OSB, status, &osb).may_heal(), heals || status >= 500, "{status}");
    }
    assert!(
        !CallError::failed(ErrorFormat::Cognit, crate::Error::of_status(StatusCode::GATEWAY_TIMEOUT, ""))
            .may_heal()
    );
}

#[test]
fn a_body_of_another_form_is_a_proxy_or_another_server() {
    for api in [&PROBLEM, &INSIGHTS, &COGNIT] {
        let missing = refused(api, 404, &json!({"title": "Not found"}));
        assert!(
            missing.to_string().ends_with(&format!("gave status 404 Not Found; {}", api.question)),
            "{missing}"
        );
        assert!(matches!(missing, CallError::Unexpected { .. }) && !missing.may_heal());
        assert!(matches!(refused(api, 502, &json!("<html>")), CallError::Lost { .. }));
        assert!(matches!(refused(api, 302, &json!({})), CallError::Unexpected { .. }));
    }
    let strange = refused(&OSB, 302, &json!({})).to_string();
    assert_eq!(strange, "the broker at http://127.0.0.1:1 gave status 302 Found; is it a broker?");
}

#[test]
fn whatever_a_server_says_is_one_printable_line() {
    for (body, expected) in [
        (json!({"description": "a\u{1b}[31m\nb"}), "a [31m b"),
        (json!({"error": "Odd"}), "Odd"),
        (json!({"error": "Odd", "description": "why"}), "Odd: why"),
        (json!({"title": "t", "detail": "of another API"}), "of another API"),
        (json!({"description": "first", "detail": "second"}), "first"),
        (json!({"error": "", "description": " "}), "the broker answered 400 Bad Request and did not say why"),
        (json!([1]), "the broker answered 400 Bad Request and did not say why"),
        (json!({"description": 7}), "the broker answered 400 Bad Request and did not say why"),
    ] {
        assert_eq!(refused(&OSB, 400, &body).to_string(), expected, "{body}");
    }
    let endless = refused(&OSB, 400, &json!({"description": "x".repeat(100_000)})).to_string();
    assert_eq!(endless.len(), 2_000);
    let told = |message: Value| refused(&COGNIT, 400, &json!({"error": "no\u{1b}[31m", "message": message}));
    assert_eq!(told(json!("a\nb")).to_string(), "no [31m: a b");
    assert_eq!(told(json!([{"k": 1}])).to_string(), r#"no [31m: [{"k":1}]"#);
    assert_eq!(told(Value::Null).to_string(), "no [31m");
}

#[tokio::test(start_paused = true)]
async fn a_wait_looks_less_and_less_often_and_once_more_at_its_end() {
    let client = client(&PROBLEM, "http://127.0.0.1:1", Auth::None);
    let second = Duration::from_secs(1);
    let interval = PollInterval::new(second, 2 * second, Some(6 * second));
    let (start, mut looks, mut told) = (Instant::now(), Vec::new(), Vec::new());
    let look = async || {
        looks.push(start.elapsed().as_millis());
        Ok(PollResult::going(looks.len(), format!("look {}", looks.len())))
    };
    let waited =
        client.wait_until(interval, look, |updates| told.push(format!("{updates:?}"))).await.unwrap();
    assert!(matches!(waited, Waited::Going(5, words) if words == "look 5"));
    assert_eq!(looks, [0, 1000, 2500, 4500, 6000]);
    assert_eq!(told.len(), 4);
    let asked = PollResult { pause: Some(second * 5), ..PollResult::going((), "") };
    let mut asked = [PollResult::over(()), asked].into_iter().rev();
    let start = Instant::now();
    let interval = PollInterval::new(second, 2 * second, Some(6 * second));
    client.wait_until(interval, async || Ok(asked.next().unwrap()), |_| {}).await.unwrap();
    assert_eq!(start.elapsed(), 5 * second, "the server says when to look again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_looked_for_until_the_time_is_over() {
    let found: Locate = Arc::new(|| Some(Url::parse("http://127.0.0.1:2").unwrap()));
    let client = client(&PROBLEM, "http://127.0.0.1:1", Auth::None).located_by(found);
    let second = Duration::from_secs(1);
    let away = || CallError::Lost { server: "s".into(), cause: "c".into(), api: &PROBLEM };
    let interval = || PollInterval::new(second, second, Some(9 * second));
    let mut tries = 0;
    let call = async || {
        tries += 1;
        if tries < 3 { Err(away()) } else { Ok(tries) }
    };
    assert_eq!(client.retry(interval(), call, |_| {}).await.unwrap(), 3);
    assert_eq!(client.url().as_str(), "http://127.0.0.1:2/");
    for (away_limit, seconds) in [(60, 9), (4, 5)] {
        let start = Instant::now();
        let interval = interval().away_at_most(away_limit * second);
        let error = client.retry::<()>(interval, async || Err(away()), |_| {}).await.unwrap_err();
        assert_eq!((error.may_heal(), start.elapsed()), (true, second * seconds));
    }
    let mut calls = 0;
    let refuse = async || {
        calls += 1;
        Err(CallError::Unusable("no".into()))
    };
    client.retry::<()>(interval(), refuse, |_| {}).await.unwrap_err();
    assert_eq!(calls, 1);
}
