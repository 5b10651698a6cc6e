//! A client of the Open Service Broker API, for our own broker and any other.

mod catalog;
mod credentials;
mod parameters;
mod wire;

use std::time::Duration;

use crate::api::osb::wire::{BindBody, ProvisionBody, UpdateBody};
use api::client::{Api, Auth, Client, ErrorFormat, Request};
use engine::{Clock, Timestamp, WallClock};
use reqwest::Method;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use app::cli::Global;
use app::client::CallResult;

pub(crate) use catalog::OfferedPlan;
pub(crate) use credentials::BrokerArgs;
pub(crate) use parameters::{Parameter, Parameters, SchemaAction, guessed, plain};
pub(crate) use wire::{
    Binding, Catalog, Changed, LastOperation, RuntimePage, ServiceInstance, ServicePlan, State,
};

static BROKER: Api =
    Api { format: ErrorFormat::Osb, noun: "the broker at ", question: "is it a service broker?" };

/// The longest that the API allows.
const OPERATION_CHARS_MAX: usize = 10_000;

#[derive(Debug, Clone)]
pub(crate) struct BrokerClient {
    pub(crate) http: Client,
    /// What opens the list of instances that only our own server has.
    list: Auth,
}

/// A good answer, and what it says besides its body.
#[derive(Debug)]
pub(crate) struct BrokerAnswer<T> {
    /// Accepted, but not done yet.
    pub(crate) is_going: bool,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: T,
}

/// An instance, or a binding of it.
#[derive(Debug, Clone)]
pub(crate) struct OperationSubject {
    pub(crate) instance: String,
    pub(crate) binding: Option<String>,
}

impl OperationSubject {
    pub(crate) fn instance(id: &str) -> OperationSubject {
        OperationSubject { instance: id.to_owned(), binding: None }
    }

    pub(crate) fn binding(instance: &str, id: &str) -> OperationSubject {
        OperationSubject { instance: instance.to_owned(), binding: Some(id.to_owned()) }
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

impl BrokerClient {
    pub(crate) fn find(global: &Global, args: &BrokerArgs) -> anyhow::Result<BrokerClient> {
        let (client, list) = args.client(global)?;
        let region = args.broker_region.as_deref().filter(|region| !region.is_empty());
        let base = region.into_iter().flat_map(|region| ["oauth", region]);
        Ok(BrokerClient { http: client.below(base).api_version(&args.api_version)?, list })
    }

    pub(crate) async fn catalog(&self) -> CallResult<Catalog> {
        Ok(self.call(self.http.request(Method::GET, &["v2", "catalog"])?).await?.body)
    }

    pub(crate) async fn provision(
        &self,
        id: &str,
        body: &ProvisionBody,
    ) -> CallResult<BrokerAnswer<Changed>> {
        let request = self.http.request(Method::PUT, &OperationSubject::instance(id).path())?;
        self.change(request.json(body)).await
    }

    pub(crate) async fn update(&self, id: &str, body: &UpdateBody) -> CallResult<BrokerAnswer<Changed>> {
        let request = self.http.request(Method::PATCH, &OperationSubject::instance(id).path())?;
        self.change(request.json(body)).await
    }

    /// Deletes an instance or a binding.
    pub(crate) async fn delete(
        &self,
        subject: &OperationSubject,
        ids: &Ids,
    ) -> CallResult<BrokerAnswer<Changed>> {
        self.change(self.http.request(Method::DELETE, &subject.path())?.query(&ids.query())).await
    }

    pub(crate) async fn bind(
        &self,
        subject: &OperationSubject,
        body: &BindBody,
    ) -> CallResult<BrokerAnswer<Binding>> {
        let request = self.http.request(Method::PUT, &subject.path())?.query(&INCOMPLETE);
        let reply: BrokerAnswer<Binding> = self.call(request.json(body)).await?;
        self.check_operation(reply.body.operation.as_deref())?;
        Ok(reply)
    }

    pub(crate) async fn instance(&self, id: &str) -> CallResult<ServiceInstance> {
        Ok(self.call(self.http.request(Method::GET, &OperationSubject::instance(id).path())?).await?.body)
    }

    pub(crate) async fn binding(&self, subject: &OperationSubject, ids: &Ids) -> CallResult<Binding> {
        let request = self.http.request(Method::GET, &subject.path())?;
        Ok(self.call(request.query(&ids.query())).await?.body)
    }

    pub(crate) async fn last_operation(
        &self,
        subject: &OperationSubject,
        ids: Option<&Ids>,
        operation: Option<&str>,
    ) -> CallResult<BrokerAnswer<LastOperation>> {
        let mut path = subject.path();
        path.push("last_operation");
        let mut request = self.http.request(Method::GET, &path)?;
        if let Some(ids) = ids {
            request = request.query(&ids.query());
        }
        if let Some(operation) = operation.filter(|operation| !operation.is_empty()) {
            request = request.query(&[("operation", operation)]);
        }
        self.call(request).await
    }

    /// One page of the list that our own server has. It is not part of the API of brokers.
    pub(crate) async fn runtimes(&self, size: usize, cursor: Option<&str>) -> CallResult<RuntimePage> {
        let own = self.http.with_auth(self.list.clone());
        let request = own.request(Method::GET, &["runtimes"])?.query(&[("page_size", size)]);
        Ok(self.call(request.query(&[("cursor", cursor)])).await?.body)
    }

    async fn change(&self, request: Request<'_>) -> CallResult<BrokerAnswer<Changed>> {
        let reply: BrokerAnswer<Changed> = self.call(request.query(&INCOMPLETE)).await?;
        self.check_operation(reply.body.operation.as_deref())?;
        Ok(reply)
    }

    fn check_operation(&self, operation: Option<&str>) -> CallResult<()> {
        let is_too_long = operation.is_some_and(|text| text.chars().count() > OPERATION_CHARS_MAX);
        if is_too_long { Err(self.http.unexpected("an operation with an endless name")) } else { Ok(()) }
    }

    async fn call<T: DeserializeOwned>(&self, request: Request<'_>) -> CallResult<BrokerAnswer<T>> {
        let answer = request.send().await?;
        if !matches!(answer.status, StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED) {
            return Err(self.http.unexpected(format!("status {}", answer.status)));
        }
        let retry_after = retry_after(&answer.headers, WallClock.now());
        Ok(BrokerAnswer {
            is_going: answer.status == StatusCode::ACCEPTED,
            retry_after,
            body: answer.json()?,
        })
    }
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
