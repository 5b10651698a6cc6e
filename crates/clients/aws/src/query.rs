//! One signed call.

use std::sync::Arc;
use std::time::Duration;

use cloud::{Category, CloudError};
use engine::Clock;
use engine::secret::ExposeSecret;
use http_client::{Answer, DriverError, NoAnswer, client_builder};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use tracing::info;

use super::endpoint::{Endpoint, Region};
use super::error::told;
use super::form::QueryForm;
use super::signature::{AmzDate, Request, Scope, authorization};
use super::xml::{self, Element, ResponseXmlError};
use super::{AccessKeys, Options, SYSTEM};

/// A page of instance types has about one million; an external system without pages sends some ten.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// AWS closes a connection that was idle for longer.
const IDLE_MAX: Duration = Duration::from_secs(20);
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AwsService {
    Ec2,
    Sts,
}

impl AwsService {
    fn name(self) -> &'static str {
        match self {
            AwsService::Ec2 => "ec2",
            AwsService::Sts => "sts",
        }
    }

    fn version(self) -> &'static str {
        match self {
            AwsService::Ec2 => "2016-11-15",
            AwsService::Sts => "2011-06-15",
        }
    }
}

/// Where a call goes, and which source it is for.
#[derive(Clone, Copy)]
pub(super) struct CallTarget<'a> {
    pub(super) service: AwsService,
    pub(super) region: &'a Region,
    pub(super) source: &'a str,
}

pub(super) struct AwsQuery {
    client: Client,
    pub(super) clock: Arc<dyn Clock>,
    ec2: Endpoint,
    sts: Endpoint,
    pub(super) home: Region,
}

impl AwsQuery {
    pub(super) fn new(options: &Options, clock: Arc<dyn Clock>) -> Result<AwsQuery, DriverError> {
        let home = Region::parse(&options.home)
            .map_err(|error| SYSTEM.refused(format!("its home region is none: {}", error.message)))?;
        let client = SYSTEM.client(client_builder(options.timeout).pool_idle_timeout(IDLE_MAX))?;
        let (ec2, sts) = (Endpoint::new(&options.ec2, &home)?, Endpoint::new(&options.sts, &home)?);
        Ok(AwsQuery { client, clock, ec2, sts, home })
    }

    pub(super) async fn ask(
        &self,
        target: CallTarget<'_>,
        keys: &AccessKeys,
        form: &QueryForm,
    ) -> Result<Element, CloudError> {
        let began = self.clock.now();
        let answer = self.answer(target, keys, form).await;
        let ms = self.clock.now().since(began).as_millis();
        let (region, source) = (target.region.as_str(), target.source);
        match &answer {
            Ok(_) => info!(target: "aws", "{} in {region} for source {source}: done, {ms} ms", form.action),
            Err(CloudError { category, code, .. }) => info!(
                target: "aws",
                "{} in {region} for source {source}: {} {code}, {ms} ms", form.action, category.as_str()
            ),
        }
        answer
    }

    async fn answer(
        &self,
        target: CallTarget<'_>,
        keys: &AccessKeys,
        form: &QueryForm,
    ) -> Result<Element, CloudError> {
        let request = self.request(target, keys, form)?;
        let answer = Answer::within(ANSWER_BYTES_MAX, SYSTEM, request).await.map_err(no_answer)?;
        let text = std::str::from_utf8(&answer.body).map_err(|error| {
            let at = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
            ResponseXmlError::from(::xml::XmlError::Malformed(at))
        });
        if !answer.status.is_success() {
            return Err(told(answer.status, text.unwrap_or_default(), wait(&answer)));
        }
        let element = xml::read(text?)?;
        match element.name.strip_suffix("Response") {
            Some(action) if action == form.action => Ok(element),
            _ => Err(ResponseXmlError::Part("the name of the answer").into()),
        }
    }

    fn request(
        &self,
        target: CallTarget<'_>,
        keys: &AccessKeys,
        form: &QueryForm,
    ) -> Result<RequestBuilder, CloudError> {
        let CallTarget { service, region, .. } = target;
        let endpoint = match service {
            AwsService::Ec2 => &self.ec2,
            AwsService::Sts => &self.sts,
        };
        let url = endpoint.url(region)?;
        let body = form.body(service.version());
        let at = AmzDate::new(self.clock.now());
        let host = host(&url);
        let mut headers = vec![("content-type", FORM), ("host", &host), ("x-amz-date", at.as_str())];
        if let Some(session) = &keys.session {
            headers.push(("x-amz-security-token", session.expose_secret()));
        }
        let (path, query, body_bytes) = (url.path(), url.query().unwrap_or_default(), body.as_bytes());
        let signed = Request { method: "POST", path, query, headers: &headers, body: body_bytes };
        let scope = Scope { service: service.name(), region: region.as_str(), at: &at };
        let authorization = hidden(&authorization(keys, &scope, &signed))?;
        let request =
            self.client.post(url.clone()).header(CONTENT_TYPE, FORM).header("x-amz-date", at.as_str());
        let request = match &keys.session {
            Some(session) => request.header("x-amz-security-token", hidden(session.expose_secret())?),
            None => request,
        };
        Ok(request.header(AUTHORIZATION, authorization).body(body))
    }
}

/// As the client writes it: the port only where it is not the usual one.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn hidden(text: &str) -> Result<HeaderValue, CloudError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let message = "the credentials have characters that no header can carry";
        CloudError::new(Category::Permission, "InvalidCredentials", message)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn no_answer(error: NoAnswer) -> CloudError {
    match error {
        NoAnswer::Lost(error) => {
            let category = if error.is_timeout() { Category::Timeout } else { Category::Network };
            CloudError::new(category, "", SYSTEM.unreachable(error).to_string())
        }
        NoAnswer::TooLong { bytes_max } => {
            let message = format!("AWS sent an answer that is longer than {bytes_max} bytes");
            CloudError::new(Category::Upstream, "", message)
        }
    }
}

/// What the external system asked us to wait.
fn wait(answer: &Answer) -> Option<Duration> {
    match answer.throttled()? {
        DriverError::Throttled { retry_after, .. } => Some(retry_after),
        _ => None,
    }
}
