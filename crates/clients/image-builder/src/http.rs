//! Image Builder over HTTP.

use std::collections::HashSet;
use std::time::Duration;

use engine::Timestamp;
use http_client::{ANSWER_BYTES_MAX, Answer, DriverError, NoAnswer, explain};
use identity::{CallerIdentity, IdentityService, error_body};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use super::types::{Compose, Distribution, DistributionArchitecture, ListedImages};
use super::wire::{ListBody, StatusBody, Submitted};
use super::{BuilderError, SYSTEM};

/// The external system refuses more per page.
const PAGE: u32 = 100;
/// Two thousand builds in fourteen days are twenty times what an organisation may usually have.
const PAGES_MAX: u32 = 20;
/// A long list of packages and files fits many times over.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct ImageBuilder {
    service: IdentityService,
}

impl ImageBuilder {
    /// `url` ends with the version of the API, such as `/api/image-builder/v1`. `timeout` limits connecting, and
    /// then every silence of the external system.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        Ok(ImageBuilder { service: IdentityService::new(SYSTEM, url, timeout)? })
    }

    /// Starts a build. Every call makes another one: where the error says that it may have happened, look into
    /// the list before the next try.
    pub async fn submit(&self, who: &CallerIdentity, request: &Value) -> Result<Uuid, BuilderError> {
        let body = request.to_string();
        if body.len() > REQUEST_BYTES_MAX {
            let message = format!("the request is longer than {REQUEST_BYTES_MAX} bytes; ask for less");
            return Err(BuilderError::Refused { status: 413, message });
        }
        let call = self.service.request(Method::POST, &["compose"], who);
        let answer = ask(call.header(CONTENT_TYPE, "application/json").body(body)).await?;
        match answer.status {
            StatusCode::CREATED => json::<Submitted>(&answer, "the id of a build").map(|body| body.id),
            _ => Err(error_response(&answer)),
        }
    }

    /// How a build stands. Changes nothing.
    pub async fn status(&self, who: &CallerIdentity, id: Uuid) -> Result<Compose, BuilderError> {
        let call = self.service.request(Method::GET, &["composes", &id.to_string()], who);
        let answer = ask(call).await?;
        match answer.status {
            StatusCode::OK => json::<StatusBody>(&answer, "the status of a build").map(Compose::from),
            StatusCode::NOT_FOUND => Err(BuilderError::Unknown),
            _ => Err(error_response(&answer)),
        }
    }

    /// The builds that are at least as new as a moment, newest first. The external system forgets after fourteen days.
    /// Not finding a build that is there would make a second one, so that a list which does not end is an error.
    pub async fn list(
        &self,
        who: &CallerIdentity,
        newer_than: Timestamp,
    ) -> Result<Vec<ListedImages>, BuilderError> {
        let mut found = Vec::new();
        // What is made meanwhile moves the others on to the next page, where they come again.
        let mut seen = HashSet::new();
        for page in 0..PAGES_MAX {
            let (listed, _) = self.page(who, PAGE, page * PAGE).await?;
            let is_last = listed.len() < PAGE as usize;
            let count = listed.len();
            let mut newer = 0;
            for one in listed.into_iter().filter(|one| one.created_at >= newer_than) {
                newer += 1;
                if seen.insert(one.id) {
                    found.push(one);
                }
            }
            if is_last || newer < count {
                return Ok(found);
            }
        }
        let most = PAGES_MAX * PAGE;
        Err(BuilderError::broken(format!("it lists more than {most} builds since {newer_than}")))
    }

    /// One page of the list, newest first, and how many there are in all. The external system takes a limit of 1 to 100.
    pub async fn page(
        &self,
        who: &CallerIdentity,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<ListedImages>, u64), BuilderError> {
        let call = self.service.request(Method::GET, &["composes"], who);
        let answer = ask(call.query(&[("limit", limit), ("offset", offset)])).await?;
        if answer.status != StatusCode::OK {
            return Err(error_response(&answer));
        }
        let body = json::<ListBody>(&answer, "a list of builds")?;
        Ok((body.data.into_iter().map(ListedImages::from).collect(), body.meta.count))
    }

    /// Takes a build out of the list. It neither stops the build nor deletes the image, and the build still counts
    /// against the quota. Finding nothing to hide is success.
    pub async fn hide(&self, who: &CallerIdentity, id: Uuid) -> Result<(), BuilderError> {
        let call = self.service.request(Method::DELETE, &["composes", &id.to_string()], who);
        let answer = ask(call).await?;
        match answer.status {
            StatusCode::OK | StatusCode::NO_CONTENT if answer.body.trim_ascii().is_empty() => Ok(()),
            StatusCode::OK => json::<Value>(&answer, "the end of a build").map(|_| ()),
            StatusCode::NOT_FOUND => Ok(()),
            _ => Err(error_response(&answer)),
        }
    }

    /// What the caller may build.
    pub async fn distributions(&self, who: &CallerIdentity) -> Result<Vec<Distribution>, BuilderError> {
        let answer = ask(self.service.request(Method::GET, &["distributions"], who)).await?;
        match answer.status {
            StatusCode::OK => json(&answer, "a list of distributions"),
            _ => Err(error_response(&answer)),
        }
    }

    /// The architectures of a distribution, and the image types of each.
    pub async fn architectures(
        &self,
        who: &CallerIdentity,
        distribution: &str,
    ) -> Result<Vec<DistributionArchitecture>, BuilderError> {
        let call = self.service.request(Method::GET, &["architectures", distribution], who);
        let answer = ask(call).await?;
        match answer.status {
            StatusCode::OK => json(&answer, "a list of architectures"),
            _ => Err(error_response(&answer)),
        }
    }

    /// Whether it takes calls at all. Changes nothing.
    pub async fn ready(&self, who: &CallerIdentity) -> Result<(), BuilderError> {
        let answer = ask(self.service.request(Method::GET, &["ready"], who)).await?;
        if answer.status == StatusCode::OK { Ok(()) } else { Err(error_response(&answer)) }
    }
}

/// Waits for a whole answer, within the limits.
async fn ask(request: RequestBuilder) -> Result<Answer, BuilderError> {
    Answer::within(ANSWER_BYTES_MAX, SYSTEM, request).await.map_err(|error| match error {
        NoAnswer::Lost(error) => lost(error),
        NoAnswer::TooLong { bytes_max } => {
            BuilderError::broken(format!("the answer is longer than {bytes_max} bytes"))
        }
    })
}

fn lost(error: reqwest::Error) -> BuilderError {
    let (is_late, was_asked) = (error.is_timeout(), !error.is_connect());
    let cause = explain(error);
    if is_late {
        BuilderError::TimedOut { cause, was_asked }
    } else {
        BuilderError::Unreachable { cause, was_asked }
    }
}

fn json<T: serde::de::DeserializeOwned>(answer: &Answer, what: &str) -> Result<T, BuilderError> {
    answer.json(what).map_err(|error| match error {
        DriverError::Broken { cause, .. } => BuilderError::Broken { cause },
        other => BuilderError::broken(other.to_string()),
    })
}

fn error_response(answer: &Answer) -> BuilderError {
    if let Some(DriverError::Throttled { retry_after, .. }) = answer.throttled() {
        return BuilderError::Throttled { retry_after };
    }
    let (status, message) = (answer.status, error_body(answer));
    match status {
        StatusCode::FORBIDDEN if message.to_lowercase().contains("quota") => BuilderError::Quota { message },
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => BuilderError::broken(status.to_string()),
        _ if status.is_client_error() => BuilderError::Refused { status: status.as_u16(), message },
        _ if status.is_server_error() => BuilderError::broken(format!("{status}: {message}")),
        _ => BuilderError::broken(format!("{status} was not expected")),
    }
}
