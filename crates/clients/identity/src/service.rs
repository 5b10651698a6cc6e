//! The hosted services as HTTP calls: each knows its caller by the identity header, and complains in the same
//! shape.

use std::time::Duration;

use http_client::{Answer, DriverError, ExternalSystem, client_builder, shorten};
use reqwest::header::HeaderValue;
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;

use super::CallerIdentity;
use super::header::HEADER;

#[derive(Debug, Clone)]
pub struct IdentityService {
    system: ExternalSystem,
    client: Client,
    base: Url,
}

/// What the services say when they say no.
#[derive(Deserialize)]
struct ServiceErrors {
    errors: Vec<ServiceErrorBody>,
}

#[derive(Deserialize)]
struct ServiceErrorBody {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

impl IdentityService {
    /// `url` has the version of the API at its end. `timeout` limits connecting, and then every silence.
    pub fn new(system: ExternalSystem, url: &str, timeout: Duration) -> Result<IdentityService, DriverError> {
        Ok(IdentityService {
            system,
            client: system.client(client_builder(timeout))?,
            base: system.url(url)?,
        })
    }

    /// An empty last segment makes a slash at the end.
    pub fn request(&self, method: Method, path: &[&str], who: &CallerIdentity) -> RequestBuilder {
        self.call(method, path, who.header_value())
    }

    /// A call on behalf of a caller whose header we were given.
    pub fn forward(
        &self,
        method: Method,
        path: &[&str],
        identity: &str,
    ) -> Result<RequestBuilder, DriverError> {
        Ok(self.call(method, path, self.system.header("identity", identity)?))
    }

    fn call(&self, method: Method, path: &[&str], mut identity: HeaderValue) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        identity.set_sensitive(true);
        self.client.request(method, url).header(HEADER, identity)
    }

    /// Asks a question; only 200 is an answer to it.
    pub async fn ask(&self, request: RequestBuilder) -> Result<Answer, DriverError> {
        let answer = Answer::to(self.system, request).await?;
        if answer.status == StatusCode::OK { Ok(answer) } else { Err(self.error_response(&answer)) }
    }

    /// As `ask`, and what is not there is no error.
    pub async fn find(&self, request: RequestBuilder) -> Result<Option<Answer>, DriverError> {
        let answer = Answer::to(self.system, request).await?;
        match answer.status {
            StatusCode::OK => Ok(Some(answer)),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.error_response(&answer)),
        }
    }

    fn error_response(&self, answer: &Answer) -> DriverError {
        if let Some(throttled) = answer.throttled() {
            return throttled;
        }
        let status = answer.status;
        match status {
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => self.system.broken(status.to_string()),
            _ if status.is_client_error() => self.system.refused(error_body(answer)),
            _ if status.is_server_error() => self.system.broken(format!("{status}: {}", error_body(answer))),
            _ => self.system.broken(format!("{status} was not expected")),
        }
    }
}

/// The external system's own words, or what can be read of them.
pub fn error_body(answer: &Answer) -> String {
    let said = serde_json::from_slice::<ServiceErrors>(&answer.body).ok().and_then(|said| {
        let first = said.errors.into_iter().next()?;
        first.detail.filter(|detail| !detail.trim().is_empty()).or(first.title)
    });
    let text = String::from_utf8_lossy(&answer.body);
    match said {
        Some(words) => shorten(&words),
        None if text.trim().is_empty() || text.trim_start().starts_with('<') => answer.status.to_string(),
        None => shorten(&text),
    }
}
