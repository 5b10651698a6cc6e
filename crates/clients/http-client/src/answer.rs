//! Reads HTTP answers within limits, for all clients.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url, redirect};

use crate::error::DriverError;
use crate::trust::http_client;

/// The kubeconfig of a runtime and a page of labelled objects fit many times over.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
pub const MESSAGE_CHARS_MAX: usize = 500;
/// Far above every id seen, and short enough for a column or a label.
const ID_CHARS_MAX: usize = 128;
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);
/// For an external system that says "too many requests" without a time that we can read.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// The name of an external system, which makes its errors.
#[derive(Debug, Clone, Copy)]
pub struct ExternalSystem(pub &'static str);

impl ExternalSystem {
    pub fn refused(self, message: impl Into<String>) -> DriverError {
        DriverError::Refused { system: self.0, message: message.into() }
    }

    pub fn broken(self, cause: impl Into<String>) -> DriverError {
        DriverError::Broken { system: self.0, cause: cause.into() }
    }

    pub fn unreachable(self, error: reqwest::Error) -> DriverError {
        DriverError::Unreachable { system: self.0, cause: explain(error) }
    }

    /// What can be used as an address: http or https, and no password that would end up in a log.
    pub fn url(self, text: &str) -> Result<Url, DriverError> {
        let url =
            Url::parse(text).map_err(|error| self.refused(format!("its url cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(self.refused(format!("its url must begin with http or https, not {}", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.refused("its url must not have a user or a password"));
        }
        Ok(url)
    }

    /// An address that secrets may be sent to: https, unless it leads to this machine.
    pub fn safe_url(self, text: &str) -> Result<Url, DriverError> {
        let url = self.url(text)?;
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(self.refused("its url must begin with https, unless it leads to this machine"));
        }
        Ok(url)
    }

    pub fn client(self, builder: ClientBuilder) -> Result<Client, DriverError> {
        builder
            .build()
            .map_err(|error| self.refused(format!("the HTTP client cannot be made: {}", explain(error))))
    }

    /// An id that the external system gave. It is saved, logged and put into labels and paths.
    pub fn id(self, text: String) -> Result<String, DriverError> {
        if (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(text)
        } else {
            Err(self.broken(format!("it answered {:?} in place of an id", shorten(&text))))
        }
    }

    pub fn header(self, name: &str, value: &str) -> Result<HeaderValue, DriverError> {
        HeaderValue::from_str(value)
            .map_err(|_| self.refused(format!("the {name} has characters that no header can carry")))
    }
}

/// `timeout` limits connecting, and then every silence of the external system. A whole call ends after twice that
/// time, so that an external system that sends one byte now and then cannot hold a step for ever.
pub fn client_builder(timeout: Duration) -> ClientBuilder {
    http_client()
        .connect_timeout(timeout)
        .read_timeout(timeout)
        .timeout(timeout * 2)
        // A redirect would carry secrets to a place that no operator configured, and so would a proxy that only
        // an environment variable knows of.
        .redirect(redirect::Policy::none())
        .no_proxy()
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum NoAnswer {
    Lost(reqwest::Error),
    TooLong { bytes_max: usize },
}

/// Reads a whole body, and no more than `bytes_max` of it.
pub async fn read_body(response: &mut Response, bytes_max: usize) -> Result<Vec<u8>, NoAnswer> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(NoAnswer::Lost)? {
        if body.len() + chunk.len() > bytes_max {
            return Err(NoAnswer::TooLong { bytes_max });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A whole answer. It is not yet known to be a good one.
pub struct Answer {
    pub system: ExternalSystem,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn to(system: ExternalSystem, request: RequestBuilder) -> Result<Answer, DriverError> {
        Answer::within(ANSWER_BYTES_MAX, system, request).await.map_err(|error| match error {
            NoAnswer::Lost(error) => system.unreachable(error),
            NoAnswer::TooLong { bytes_max } => {
                system.broken(format!("the answer is longer than {bytes_max} bytes"))
            }
        })
    }

    /// For clients that sort lost answers in their own way.
    pub async fn within(
        bytes_max: usize,
        system: ExternalSystem,
        request: RequestBuilder,
    ) -> Result<Answer, NoAnswer> {
        let mut response = request.send().await.map_err(NoAnswer::Lost)?;
        let body = read_body(&mut response, bytes_max).await?;
        let headers = std::mem::take(response.headers_mut());
        Ok(Answer { system, status: response.status(), headers, body })
    }

    /// The body as JSON. The parser's own words may quote the body, and the body may hold secrets.
    pub fn json<T: serde::de::DeserializeOwned>(&self, what: &str) -> Result<T, DriverError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.system.broken(format!("the answer is not {what}, from line {line} column {column} on"))
        })
    }

    /// An answer that is no success, sorted by its status.
    pub fn error(&self, words: String) -> DriverError {
        if let Some(throttled) = self.throttled() {
            return throttled;
        }
        match self.status {
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => self.system.broken(words),
            status if status.is_client_error() => self.system.refused(words),
            _ => self.system.broken(words),
        }
    }

    /// When to come back, where the service says it.
    pub fn retry_after(&self) -> Option<Duration> {
        self.headers.get(RETRY_AFTER).map(retry_after)
    }

    /// The external system is busy, and said so with the status.
    pub fn throttled(&self) -> Option<DriverError> {
        let given = self.retry_after();
        let retry_after = match self.status {
            StatusCode::TOO_MANY_REQUESTS => given.unwrap_or(RETRY_AFTER_DEFAULT),
            StatusCode::SERVICE_UNAVAILABLE => given?,
            _ => return None,
        };
        Some(DriverError::Throttled { system: self.system.0, retry_after })
    }
}

/// Seconds are understood; a date is not, because that would need two clocks that agree.
fn retry_after(value: &HeaderValue) -> Duration {
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    seconds.map_or(RETRY_AFTER_DEFAULT, Duration::from_secs).min(RETRY_AFTER_MAX)
}

/// Fits into one line of a log, whatever the external system sent.
pub fn shorten(text: &str) -> String {
    let readable = |c: char| if c.is_control() { ' ' } else { c };
    let mut chars = text.trim().chars().map(readable);
    let mut short: String = chars.by_ref().take(MESSAGE_CHARS_MAX).collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}

/// The client's errors say what happened only in their sources. The URL is left out, because it may name
/// more than a log should.
pub fn explain(error: reqwest::Error) -> String {
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

/// A URL that leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
