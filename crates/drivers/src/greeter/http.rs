//! The greeter over HTTP.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};

use super::types::{ErrorBody, GreetBody, GreetingBody};
use super::{Greeter, Greeting, SYSTEM};
use crate::error::DriverError;

const ANSWER_BYTES_MAX: usize = 64 * 1024;
const MESSAGE_CHARS_MAX: usize = 300;
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);
/// For a far side that says "too many requests" without a time that we can read.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct HttpGreeter {
    client: Client,
    greetings: Url,
}

impl HttpGreeter {
    /// `timeout` limits connecting, and then every silence of the far side. A whole call ends after twice
    /// that time, so that a far side that sends one byte now and then cannot hold a step for ever.
    pub fn new(base_url: &str, timeout: Duration) -> Result<Self, DriverError> {
        let client = Client::builder()
            .connect_timeout(timeout)
            .read_timeout(timeout)
            .timeout(timeout * 2)
            // A redirect would carry the token to a place that nobody configured, and so would a proxy that
            // only an environment variable knows of.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| refused(format!("the HTTP client cannot be made: {}", explain(error))))?;
        Ok(HttpGreeter { client, greetings: greetings_url(base_url)? })
    }

    fn greeting_url(&self, token: &str) -> Result<Url, DriverError> {
        // URLs drop segments of dots, however they are encoded, and then the call would mean all greetings.
        if matches!(token, "" | "." | "..") {
            return Err(refused(format!("a greeting cannot have the token {token:?}")));
        }
        let mut url = self.greetings.clone();
        url.path_segments_mut().map_err(|()| refused("the base url cannot have a path"))?.push(token);
        Ok(url)
    }
}

#[async_trait]
impl Greeter for HttpGreeter {
    async fn greet(&self, token: &str, name: &str) -> Result<Greeting, DriverError> {
        // Checked as part of a path too, because what cannot be found and forgotten must not be made.
        self.greeting_url(token)?;
        let key = HeaderValue::from_str(token)
            .map_err(|_| refused(format!("a greeting cannot have the token {token:?}")))?;
        let request = self.client.post(self.greetings.clone()).header("Idempotency-Key", key);
        let answer = Answer::to(request.json(&GreetBody { name })).await?;
        answer.greeting()
    }

    async fn find(&self, token: &str) -> Result<Option<Greeting>, DriverError> {
        let answer = Answer::to(self.client.get(self.greeting_url(token)?)).await?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            _ => answer.greeting().map(Some),
        }
    }

    async fn forget(&self, token: &str) -> Result<(), DriverError> {
        let answer = Answer::to(self.client.delete(self.greeting_url(token)?)).await?;
        match answer.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(answer.error()),
        }
    }
}

/// A whole answer, read within the limits. It is not yet known to be a good one.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    async fn to(request: RequestBuilder) -> Result<Answer, DriverError> {
        let mut response = request.send().await.map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(broken(format!("the answer is longer than {ANSWER_BYTES_MAX} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        let headers = std::mem::take(response.headers_mut());
        Ok(Answer { status: response.status(), headers, body })
    }

    fn greeting(&self) -> Result<Greeting, DriverError> {
        if !matches!(self.status, StatusCode::OK | StatusCode::CREATED) {
            return Err(self.error());
        }
        match serde_json::from_slice::<GreetingBody>(&self.body) {
            Ok(body) => Ok(body.into()),
            // The error's own words may quote the body, and the body holds a secret.
            Err(error) => Err(broken(format!(
                "the answer is not a greeting, from line {} column {} on",
                error.line(),
                error.column()
            ))),
        }
    }

    fn error(&self) -> DriverError {
        let retry_after = self.headers.get(RETRY_AFTER).map(retry_after);
        match (self.status, retry_after) {
            (StatusCode::TOO_MANY_REQUESTS, given) => {
                DriverError::Throttled { system: SYSTEM, retry_after: given.unwrap_or(RETRY_AFTER_DEFAULT) }
            }
            (StatusCode::SERVICE_UNAVAILABLE, Some(retry_after)) => {
                DriverError::Throttled { system: SYSTEM, retry_after }
            }
            (status, _) if status.is_client_error() => refused(self.message()),
            (status, _) if status.is_server_error() => broken(format!("{status}: {}", self.message())),
            (status, _) => broken(format!("{status} was not expected")),
        }
    }

    /// The far side's own words, or what can be read of them.
    fn message(&self) -> String {
        match serde_json::from_slice::<ErrorBody>(&self.body) {
            Ok(body) => shorten(&body.error),
            Err(_) if self.body.is_empty() => self.status.to_string(),
            Err(_) => shorten(&String::from_utf8_lossy(&self.body)),
        }
    }
}

fn greetings_url(base_url: &str) -> Result<Url, DriverError> {
    let mut url = Url::parse(base_url)
        .map_err(|error| refused(format!("the base url {base_url:?} cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(format!("the base url must begin with http or https, not {}", url.scheme())));
    }
    url.path_segments_mut()
        .map_err(|()| refused("the base url cannot have a path"))?
        .pop_if_empty()
        .extend(["greeter", "greetings"]);
    Ok(url)
}

/// Seconds are understood; a date is not, because that would need two clocks that agree.
fn retry_after(value: &HeaderValue) -> Duration {
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    seconds.map_or(RETRY_AFTER_DEFAULT, Duration::from_secs).min(RETRY_AFTER_MAX)
}

/// Fits into one line of a log, whatever the far side sent.
fn shorten(text: &str) -> String {
    let readable = |c: char| if c.is_control() { ' ' } else { c };
    let mut chars = text.trim().chars().map(readable);
    let mut short: String = chars.by_ref().take(MESSAGE_CHARS_MAX).collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}

fn unreachable(error: reqwest::Error) -> DriverError {
    DriverError::Unreachable { system: SYSTEM, cause: explain(error) }
}

fn broken(cause: String) -> DriverError {
    DriverError::Broken { system: SYSTEM, cause }
}

fn refused(message: impl Into<String>) -> DriverError {
    DriverError::Refused { system: SYSTEM, message: message.into() }
}

/// The client's errors say what happened only in their sources. The URL is left out, because it holds the
/// token.
fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    shorten(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, header: Option<&str>, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(text) = header {
            headers.insert(RETRY_AFTER, text.parse().unwrap());
        }
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() }
    }

    #[test]
    fn answers_are_sorted_by_what_can_be_done() {
        check(&answer(429, Some("7"), ""), "greeter asks to wait for 7 s");
        check(&answer(429, None, ""), "greeter asks to wait for 5 s");
        check(&answer(429, Some("Wed, 21 Oct 2015 07:28:00 GMT"), ""), "greeter asks to wait for 5 s");
        check(&answer(503, Some("999999999999"), ""), "greeter asks to wait for 300 s");
        check(&answer(503, Some("-1"), ""), "greeter asks to wait for 5 s");
        let words = r#"{"error":"no\nluck"}"#;
        check(&answer(503, None, words), "greeter is broken: 503 Service Unavailable: no luck");
        check(&answer(500, Some("7"), "oops"), "greeter is broken: 500 Internal Server Error: oops");
        check(&answer(302, None, ""), "greeter is broken: 302 Found was not expected");
        check(&answer(204, None, ""), "greeter is broken: 204 No Content was not expected");
        check(&answer(422, None, words), "greeter refused: no luck");
        check(&answer(401, None, ""), "greeter refused: 401 Unauthorized");
        check(
            &answer(200, None, ""),
            "greeter is broken: the answer is not a greeting, from line 1 column 0 on",
        );
    }

    #[track_caller]
    fn check(answer: &Answer, expect: &str) {
        assert_eq!(answer.greeting().unwrap_err().to_string(), expect);
    }

    #[test]
    fn a_wrong_answer_is_never_quoted() {
        let error = answer(200, None, r#"{"text":"hi","token":{"secret":"s3cr3t"}}"#).greeting().unwrap_err();
        assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    }

    #[test]
    fn long_messages_are_cut() {
        let error = answer(400, None, &"é".repeat(5000)).error();
        let DriverError::Refused { message, .. } = error else { panic!("{error:?}") };
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
        assert!(message.ends_with('…'));
        assert_eq!(shorten(&"é".repeat(300)), "é".repeat(300));
    }

    #[test]
    fn tokens_stay_one_segment_of_the_path() {
        let greeter = HttpGreeter::new("http://localhost:1/base/", Duration::from_secs(1)).unwrap();
        let url = |token| greeter.greeting_url(token).unwrap().to_string();
        assert_eq!(url("t1"), "http://localhost:1/base/greeter/greetings/t1");
        assert_eq!(
            url("a/../b?c#d e%2F"),
            "http://localhost:1/base/greeter/greetings/a%2F..%2Fb%3Fc%23d%20e%252F"
        );
        for token in ["", ".", ".."] {
            assert!(greeter.greeting_url(token).is_err());
        }
    }

    #[test]
    fn a_base_url_that_cannot_work_is_refused_at_once() {
        for base_url in ["", "localhost", "ftp://localhost", "mailto:a@b"] {
            let error = HttpGreeter::new(base_url, Duration::from_secs(1)).unwrap_err();
            assert!(matches!(error, DriverError::Refused { .. }), "{error:?}");
        }
    }
}
