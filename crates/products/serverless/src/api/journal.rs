//! The lines of the log that operators know from the engine whose place this takes.
//!
//! How a line looks is up to the log writer. Here is what it says, and what it never says.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use api::{Cognit, Error, Format as _};
use axum::extract::{ConnectInfo, Request};
use axum::http::Version;
use axum::response::Response;
use serde_json::Value;
use tracing::{Level, debug, enabled, info};

use super::answer::LogNote;

const TARGET: &str = "serverless";
const ACCESS: &str = "access";
const LINE_CHARS_MAX: usize = 1024;
/// Of a body.
const BODY_CHARS_MAX: usize = 8 * 1024;
/// Members whose value is never logged, wherever a request has them.
const SECRETS: [&str; 6] = ["PASS", "SECRET", "TOKEN", "AUTH", "CREDENTIAL", "PRIVATE"];

/// A client asks for something.
pub(crate) fn received(what: &str) {
    info!(target: TARGET, "Received request to {what}");
}

pub(crate) fn asked(request: &Request) {
    debug!(target: TARGET, "{} {}", request.method(), short(request.uri().path(), LINE_CHARS_MAX));
}

pub(crate) fn sent(body: &[u8]) {
    if enabled!(target: TARGET, Level::DEBUG) {
        debug!(target: TARGET, "Request Body: {}", short(&clean(body), BODY_CHARS_MAX));
    }
}

pub(crate) fn answered(response: &Response) {
    info!(target: TARGET, "Response HTTP Return Code: {}", response.status().as_u16());
    let body = body_of(response);
    if enabled!(target: TARGET, Level::DEBUG) && !body.is_empty() {
        debug!(target: TARGET, "Response Body: {}", short(&clean(&body), BODY_CHARS_MAX));
    }
    if let Some(entry) = response.extensions().get::<LogNote>().and_then(|told| told.entry) {
        info!(target: TARGET, "Serverless Runtime {entry}");
    }
}

/// What was sent, which the body of a response does not say any more.
fn body_of(response: &Response) -> Cow<'_, [u8]> {
    let extensions = response.extensions();
    match (extensions.get::<LogNote>(), extensions.get::<Error>()) {
        (Some(told), _) => Cow::Borrowed(told.body.as_bytes()),
        (None, Some(error)) => Cow::Owned(Cognit.write(error)),
        (None, None) => Cow::Borrowed(&[]),
    }
}

/// The line of the access log for one request, as far as it is known before the answer.
pub(crate) struct AccessLogLine {
    host: String,
    request: String,
}

impl AccessLogLine {
    pub(crate) fn of(request: &Request) -> AccessLogLine {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let host = peer.map_or_else(|| "-".to_owned(), |ConnectInfo(peer)| peer.ip().to_string());
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let line = format!("{} {} {}", request.method(), path, version(request.version()));
        AccessLogLine { host, request: short(&line, LINE_CHARS_MAX) }
    }

    pub(crate) fn end(self, response: &Response, took: Duration) {
        let AccessLogLine { host, request } = self;
        let status = response.status().as_u16();
        let bytes = body_of(response).len();
        let seconds = took.as_secs_f64();
        info!(target: ACCESS, %host, user = "-", %request, status, bytes, seconds, "{request:?} {status}");
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// What is no JSON could hold anything anywhere.
fn clean(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => without_secrets(&body).to_string(),
        Err(_) => format!("{} bytes that are not JSON", body.len()),
    }
}

fn without_secrets(value: &Value) -> Value {
    let is_secret = |name: &str| {
        let name = name.to_uppercase();
        SECRETS.iter().any(|secret| name.contains(secret))
    };
    match value {
        Value::Array(items) => items.iter().map(without_secrets).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, value)| {
                    let value = if is_secret(name) { "<left out>".into() } else { without_secrets(value) };
                    (name.clone(), value)
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

fn short(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use serde_json::json;
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::fmt::MakeWriter;

    use super::super::answer::RuntimeResponse;
    use super::super::error;
    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Paper {
        type Writer = Paper;
        fn make_writer(&'a self) -> Paper {
            self.clone()
        }
    }

    #[test]
    fn the_log_has_the_lines_that_operators_know_and_no_secret() {
        let paper = Paper::default();
        let subscriber =
            tracing_subscriber::fmt().with_writer(paper.clone()).with_max_level(LevelFilter::TRACE);
        // For all threads: with one for this thread alone, what other tests meet first would not be logged here.
        tracing::subscriber::set_global_default(subscriber.with_ansi(false).without_time().finish()).unwrap();
        tracing::callsite::rebuild_interest_cache();
        let mut request = Request::post("/serverless-runtimes")
            .header("authorization", "Basic hunter2")
            .body(Body::empty())
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 7))));
        let line = AccessLogLine::of(&request);
        asked(&request);
        received("Create a Serverless Runtime");
        sent(br#"{"PASSWORD": "hunter2", "a": 1}"#);
        sent(b"{hunter2");
        let made =
            RuntimeResponse::of(StatusCode::CREATED, r#"{"SR_AUTH":"hunter2"}"#.into()).entry("created");
        let response = made.into_response();
        answered(&response);
        line.end(&response, Duration::from_millis(2374));
        let mut response = StatusCode::NOT_FOUND.into_response();
        response.extensions_mut().insert(error::no_such_runtime().into_error(error::fault));
        answered(&response);
        let text = paper.text();
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| line.contains("serverless: ")).collect();
        let expect = [
            "DEBUG serverless: POST /serverless-runtimes",
            "INFO serverless: Received request to Create a Serverless Runtime",
            r#"DEBUG serverless: Request Body: {"PASSWORD":"<left out>","a":1}"#,
            "DEBUG serverless: Request Body: 8 bytes that are not JSON",
            "INFO serverless: Response HTTP Return Code: 201",
            r#"DEBUG serverless: Response Body: {"SR_AUTH":"<left out>"}"#,
            "INFO serverless: Serverless Runtime created",
            "INFO serverless: Response HTTP Return Code: 404",
            r#"DEBUG serverless: Response Body: {"error":"Serverless Runtime not found","message":""}"#,
        ];
        assert_eq!(lines, expect);
        let access = text.lines().find(|line| line.contains("access: ")).unwrap();
        for part in [
            "host=127.0.0.1",
            "user=\"-\"",
            "request=POST /serverless-runtimes HTTP/1.1",
            "status=201",
            "bytes=21",
            "seconds=2.374",
        ] {
            assert!(access.contains(part), "{part} is not in {access}");
        }
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn what_looks_like_a_secret_is_left_out_wherever_it_is() {
        let body = json!({"FAAS": {"FLAVOUR": "a", "sr_auth": "b"}, "x": [{"Password": {"y": 1}}], "N": "c"});
        let left_out = "<left out>";
        let shown =
            json!({"FAAS": {"FLAVOUR": "a", "sr_auth": left_out}, "x": [{"Password": left_out}], "N": "c"});
        assert_eq!(without_secrets(&body), shown);
    }

    #[test]
    fn long_lines_are_cut_between_two_characters() {
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("äöü", 2), "äö…");
    }
}
