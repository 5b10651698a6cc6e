//! How commands talk to a service broker, our own or any other that speaks the Open Service Broker API.

mod catalog;
mod error;
mod parameters;
mod place;
mod wire;

use std::time::Duration;

use anyhow::Result;
use engine::{Clock, Timestamp, WallClock};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::cli::Global;
use place::Place;

pub(crate) use catalog::Offer;
pub(crate) use error::{BrokerError, aftermath};
pub(crate) use parameters::{Action, Parameter, Parameters, guessed, plain};
pub(crate) use place::BrokerArgs;
pub(crate) use wire::{
    Bind, Binding, Catalog, Changed, Instance, LastOperation, Plan, Previous, Provision, RuntimePage, State,
    Update,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Platforms give up after a minute, so no broker has a reason to take longer.
const CALL_LIMIT: Duration = Duration::from_secs(65);
/// A catalog may have a hundred plans with a schema of 64 kB each.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest that the API allows.
const OPERATION_CHARS_MAX: usize = 10_000;

/// One broker and what we show to it.
#[derive(Debug, Clone)]
pub(crate) struct Broker {
    http: reqwest::Client,
    place: Place,
    region: Option<String>,
    api_version: String,
}

type Answered<T> = Result<T, BrokerError>;

/// A good answer, and what it says besides its body.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    /// Accepted, but not done yet.
    pub(crate) is_going: bool,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: T,
}

/// An instance, or a binding of it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) instance: String,
    pub(crate) binding: Option<String>,
}

impl Subject {
    pub(crate) fn instance(id: &str) -> Subject {
        Subject { instance: id.to_owned(), binding: None }
    }

    pub(crate) fn binding(instance: &str, id: &str) -> Subject {
        Subject { instance: instance.to_owned(), binding: Some(id.to_owned()) }
    }

    fn path(&self) -> Vec<&str> {
        let mut path = vec!["v2", "service_instances", self.instance.as_str()];
        if let Some(binding) = &self.binding {
            path.extend(["service_bindings", binding.as_str()]);
        }
        path
    }
}

/// The service and the plan of what is asked about, by their ids.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    pub(crate) service: String,
    pub(crate) plan: String,
}

impl Ids {
    fn query(&self) -> [(&'static str, &str); 2] {
        [("service_id", &self.service), ("plan_id", &self.plan)]
    }
}

const INCOMPLETE: [(&str, &str); 1] = [("accepts_incomplete", "true")];

impl Broker {
    pub(crate) fn find(global: &Global, args: &BrokerArgs) -> Result<Broker> {
        let place = Place::find(global, args)?;
        let mut builder = drivers::http_client()
            .connect_timeout(CONNECT_LIMIT)
            // A redirect would carry the password to a place that nobody named.
            .redirect(reqwest::redirect::Policy::none());
        if place.is_loopback() {
            // A proxy would look for the broker on its own machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| BrokerError::Unusable(error.to_string()))?;
        let region = args.broker_region.clone().filter(|region| !region.is_empty());
        Ok(Broker { http, place, region, api_version: args.api_version.clone() })
    }

    /// The same broker, looked for again.
    pub(crate) fn look_again(&mut self) {
        self.place.look_again();
    }

    pub(crate) async fn catalog(&self) -> Answered<Catalog> {
        let catalog: Catalog = self.call(self.request(Method::GET, &["v2", "catalog"])?).await?.body;
        Ok(catalog)
    }

    pub(crate) async fn provision(&self, id: &str, body: &Provision<'_>) -> Answered<Reply<Changed>> {
        let request = self.request(Method::PUT, &Subject::instance(id).path())?;
        self.change(request.json(body)).await
    }

    pub(crate) async fn update(&self, id: &str, body: &Update<'_>) -> Answered<Reply<Changed>> {
        let request = self.request(Method::PATCH, &Subject::instance(id).path())?;
        self.change(request.json(body)).await
    }

    /// Deletes an instance or a binding.
    pub(crate) async fn delete(&self, subject: &Subject, ids: &Ids) -> Answered<Reply<Changed>> {
        self.change(self.request(Method::DELETE, &subject.path())?.query(&ids.query())).await
    }

    pub(crate) async fn bind(&self, subject: &Subject, body: &Bind<'_>) -> Answered<Reply<Binding>> {
        let request = self.request(Method::PUT, &subject.path())?.query(&INCOMPLETE);
        let reply: Reply<Binding> = self.call(request.json(body)).await?;
        self.check_operation(reply.body.operation.as_deref())?;
        Ok(reply)
    }

    pub(crate) async fn instance(&self, id: &str) -> Answered<Instance> {
        Ok(self.call(self.request(Method::GET, &Subject::instance(id).path())?).await?.body)
    }

    pub(crate) async fn binding(&self, subject: &Subject, ids: &Ids) -> Answered<Binding> {
        Ok(self.call(self.request(Method::GET, &subject.path())?.query(&ids.query())).await?.body)
    }

    pub(crate) async fn last_operation(
        &self,
        subject: &Subject,
        ids: Option<&Ids>,
        operation: Option<&str>,
    ) -> Answered<Reply<LastOperation>> {
        let mut path = subject.path();
        path.push("last_operation");
        let mut request = self.request(Method::GET, &path)?;
        if let Some(ids) = ids {
            request = request.query(&ids.query());
        }
        if let Some(operation) = operation.filter(|operation| !operation.is_empty()) {
            request = request.query(&[("operation", operation)]);
        }
        self.call(request).await
    }

    /// One page of the list that our own server has. It is not part of the API of brokers.
    pub(crate) async fn runtimes(&self, size: usize, cursor: Option<&str>) -> Answered<RuntimePage> {
        let mut request = self.http.get(joined(self.place.url(), None, &["runtimes"])?);
        request = match self.place.token() {
            Some(token) => request.bearer_auth(token),
            None => self.identified(request),
        };
        request = request.query(&[("page_size", size)]);
        if let Some(cursor) = cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        Ok(self.call(request).await?.body)
    }

    async fn change(&self, request: RequestBuilder) -> Answered<Reply<Changed>> {
        let reply: Reply<Changed> = self.call(request.query(&INCOMPLETE)).await?;
        self.check_operation(reply.body.operation.as_deref())?;
        Ok(reply)
    }

    fn check_operation(&self, operation: Option<&str>) -> Answered<()> {
        let is_too_long = operation.is_some_and(|text| text.chars().count() > OPERATION_CHARS_MAX);
        if is_too_long { Err(self.strange("an operation with an endless name")) } else { Ok(()) }
    }

    /// Every part is one segment, whatever it contains.
    fn request(&self, method: Method, path: &[&str]) -> Answered<RequestBuilder> {
        let request = self.http.request(method, joined(self.place.url(), self.region.as_deref(), path)?);
        Ok(self.identified(request.header("X-Broker-API-Version", &self.api_version)))
    }

    fn identified(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.place.credentials {
            Some(it) => request.basic_auth(&it.user, Some(it.password.expose_secret())),
            // What opens the other doors of our own server opens its broker too, if its role is large enough.
            None => match self.place.token() {
                Some(token) => request.bearer_auth(token),
                None => request,
            },
        }
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Answered<Reply<T>> {
        let response = request.timeout(CALL_LIMIT).send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        let retry_after = retry_after(response.headers(), WallClock.now());
        let bytes = self.read(response).await?;
        let is_good = matches!(status, StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED);
        if !is_good {
            let had_credentials = self.place.credentials.is_some();
            let url = self.place.url();
            return Err(BrokerError::refused(url, status, &bytes, had_credentials, &self.api_version));
        }
        // Many brokers mean an empty object when they say nothing.
        let bytes: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
        // The words of the parser are left out where they could repeat a password.
        let body = serde_json::from_slice(bytes).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            self.strange(&format!("status {status} with an answer that cannot be read ({place})"))
        })?;
        Ok(Reply { is_going: status == StatusCode::ACCEPTED, retry_after, body })
    }

    async fn read(&self, mut response: Response) -> Answered<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(&error))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.strange("an endless answer"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn lost(&self, error: &reqwest::Error) -> BrokerError {
        BrokerError::lost(self.place.url(), error)
    }

    fn strange(&self, what: &str) -> BrokerError {
        BrokerError::strange(self.place.url(), what)
    }
}

fn joined(base: &Url, region: Option<&str>, path: &[&str]) -> Answered<Url> {
    let prefix = region.map(|region| ["oauth", region]);
    let parts: Vec<&str> = prefix.iter().flatten().chain(path).copied().collect();
    // A URL drops segments of dots, however they are encoded, and would mean another path then.
    if let Some(part) = parts.iter().find(|part| matches!(**part, "" | "." | "..")) {
        return Err(BrokerError::Unusable(format!("{part:?} cannot be an id or a region")));
    }
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(parts);
        }
        Err(()) => return Err(BrokerError::Unusable(format!("{base} cannot have a path"))),
    }
    Ok(url)
}

/// Seconds, or a date. Anything else counts as nothing.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    let micros = i64::try_from(at.unix_timestamp_nanos() / 1_000).ok()?;
    Some(Timestamp(micros).since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_one_segment_and_a_region_comes_before_it() {
        let url = |base: &str, region, id| {
            joined(&base.parse().unwrap(), region, &["v2", id]).map(String::from).ok()
        };
        assert_eq!(url("http://h:1", None, "a/b?c").as_deref(), Some("http://h:1/v2/a%2Fb%3Fc"));
        assert_eq!(url("http://h/base/", Some("eu"), "a").as_deref(), Some("http://h/base/oauth/eu/v2/a"));
        assert_eq!((url("http://h", None, ".."), url("http://h", Some(""), "a")), (None, None));
    }

    #[test]
    fn a_broker_says_when_to_come_back_in_seconds_or_by_date() {
        let now = Timestamp(0).plus(Duration::from_secs(946_684_790));
        for (text, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Sat, 01 Jan 2000 00:00:00 GMT", Some(10)),
            ("Fri, 31 Dec 1999 00:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("99999999999999999999999", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
