//! Calls to the Resource Manager: one request, or all pages of a list.

use std::sync::Arc;
use std::time::Duration;

use cloud::{Category, CloudAccount, CloudError};
use engine::Clock;
use engine::secret::ExposeSecret;
use http_client::{Answer, DriverError, NoAnswer, client_builder};
use reqwest::header::{AUTHORIZATION, HeaderValue, IF_NONE_MATCH, LOCATION};
use reqwest::{Client, Method, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::info;
use uuid::Uuid;

use super::error::told;
use super::ids::{Kind, ResourceId};
use super::options::Options;
use super::token::{AccessToken, Tokens};
use super::{PAGES_MAX, SYSTEM};

/// The list of sizes of one location has some two million.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Azure closes a connection that was idle for longer.
const IDLE_MAX: Duration = Duration::from_secs(60);

pub(super) struct Arm {
    client: Client,
    pub(super) clock: Arc<dyn Clock>,
    base: Url,
    pub(super) tokens: Tokens,
}

/// One call, without the account that it is for.
#[derive(Debug, Clone)]
pub(super) struct ArmCall {
    method: Method,
    path: String,
    version: &'static str,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
    only_if_new: bool,
}

impl ArmCall {
    pub(super) fn new(method: Method, path: impl Into<String>, version: &'static str) -> ArmCall {
        ArmCall { method, path: path.into(), version, query: Vec::new(), body: None, only_if_new: false }
    }

    pub(super) fn get(id: &ResourceId, kind: Kind) -> ArmCall {
        ArmCall::new(Method::GET, id.as_str(), kind.version())
    }

    pub(super) fn put(id: &ResourceId, kind: Kind, body: Value) -> ArmCall {
        ArmCall { body: Some(body), ..ArmCall::new(Method::PUT, id.as_str(), kind.version()) }
    }

    pub(super) fn delete(id: &ResourceId, kind: Kind) -> ArmCall {
        ArmCall::new(Method::DELETE, id.as_str(), kind.version())
    }

    pub(super) fn body(self, body: Value) -> ArmCall {
        ArmCall { body: Some(body), ..self }
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> ArmCall {
        self.query.push((name, value.into()));
        self
    }

    /// Refused with 412 where the resource exists.
    pub(super) fn only_if_new(self) -> ArmCall {
        ArmCall { only_if_new: true, ..self }
    }

    /// For a log: the last two parts of the path say what it is about.
    fn subject(&self) -> String {
        let parts: Vec<&str> = self.path.rsplit('/').take(2).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    }
}

/// An answer that is a success.
#[derive(Debug)]
pub(super) struct ArmAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) after: Option<Duration>,
    /// Where the state of the operation is told.
    pub(super) operation: Option<Url>,
    /// Where the end of the operation is told by the status alone.
    pub(super) location: Option<Url>,
}

impl ArmAnswer {
    pub(super) fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T, CloudError> {
        // The parser's own words may quote the body.
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = format!("the answer of Azure is not {what}, from line {line} column {column} on");
            CloudError::new(Category::Upstream, "", message)
        })
    }
}

#[derive(Deserialize)]
struct ListPage<T> {
    value: Vec<T>,
    #[serde(rename = "nextLink", default)]
    next_link: Option<String>,
}

impl Arm {
    pub(super) fn new(options: &Options, clock: Arc<dyn Clock>) -> Result<Arm, DriverError> {
        let base = SYSTEM.safe_url(options.arm.trim_end_matches('/'))?;
        if base.query().is_some() || base.fragment().is_some() {
            return Err(SYSTEM.refused("its url must end with the path"));
        }
        let client = SYSTEM.client(client_builder(options.timeout).pool_idle_timeout(IDLE_MAX))?;
        let tokens = Tokens::new(options, client.clone(), Arc::clone(&clock))?;
        Ok(Arm { client, clock, base, tokens })
    }

    pub(super) async fn call(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
    ) -> Result<ArmAnswer, CloudError> {
        let url = self.url(call)?;
        self.send(place, call, url).await
    }

    /// `None` where the resource does not exist.
    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
        what: &str,
    ) -> Result<Option<T>, CloudError> {
        match self.call(place, call).await {
            Err(error) if error.is(Category::NotFound) => Ok(None),
            answer => answer?.json(what).map(Some),
        }
    }

    /// All pages of a list, one after the other.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
        what: &str,
    ) -> Result<Vec<T>, CloudError> {
        let (mut all, mut url) = (Vec::new(), self.url(call)?);
        for _ in 0..PAGES_MAX {
            let page: ListPage<T> = self.send(place, call, url).await?.json(what)?;
            all.extend(page.value);
            match page.next_link.filter(|link| !link.is_empty()) {
                None => return Ok(all),
                Some(link) => url = self.own(&link)?,
            }
        }
        let message = format!("the list of {what} does not end after {PAGES_MAX} pages");
        Err(CloudError::new(Category::Upstream, "", message))
    }

    /// What stands at an address that Azure named.
    pub(super) async fn follow(&self, place: &CloudAccount<'_>, url: &Url) -> Result<ArmAnswer, CloudError> {
        let call = ArmCall::new(Method::GET, url.path(), "");
        self.send(place, &call, url.clone()).await
    }

    /// An address that Azure named is followed on our own host only: the call carries our token.
    fn own(&self, link: &str) -> Result<Url, CloudError> {
        let base_path = self.base.path().trim_end_matches('/');
        let is_own = |url: &Url| {
            url.origin() == self.base.origin()
                && url.path().strip_prefix(base_path).is_some_and(|rest| rest.starts_with('/'))
        };
        Url::parse(link).ok().filter(is_own).ok_or_else(|| {
            let message = "Azure named an address on another host, which is not followed";
            CloudError::new(Category::Upstream, "ForeignLink", message)
        })
    }

    fn url(&self, call: &ArmCall) -> Result<Url, CloudError> {
        let text = format!("{}{}", self.base.as_str().trim_end_matches('/'), call.path);
        let mut url = self.own(&text).map_err(|_| {
            CloudError::new(Category::Invalid, "InvalidResourceId", "the path of the call leads elsewhere")
        })?;
        let mut query = url.query_pairs_mut();
        query.append_pair("api-version", call.version);
        for (name, value) in &call.query {
            query.append_pair(name, value);
        }
        drop(query);
        Ok(url)
    }

    async fn send(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
        url: Url,
    ) -> Result<ArmAnswer, CloudError> {
        let began = self.clock.now();
        let answer = self.send_with_token(place, call, url).await;
        let ms = self.clock.now().since(began).as_millis();
        let (method, subject, source) = (&call.method, call.subject(), &place.account.source);
        match &answer {
            Ok(answer) => info!(
                target: "azure",
                "{method} {subject} for source {source}: {}, {ms} ms", answer.status.as_u16()
            ),
            Err(CloudError { category, code, .. }) => info!(
                target: "azure",
                "{method} {subject} for source {source}: {} {code}, {ms} ms", category.as_str()
            ),
        }
        answer
    }

    /// A token that turns out to have ended is fetched once more.
    async fn send_with_token(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
        url: Url,
    ) -> Result<ArmAnswer, CloudError> {
        let token = self.tokens.get().await?;
        let answer = self.send_once(place, call, url.clone(), &token).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return self.read(answer);
        }
        self.tokens.forget(&token).await;
        let token = self.tokens.get().await?;
        self.read(self.send_once(place, call, url, &token).await?)
    }

    async fn send_once(
        &self,
        place: &CloudAccount<'_>,
        call: &ArmCall,
        url: Url,
        token: &AccessToken,
    ) -> Result<Answer, CloudError> {
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", token.text.expose_secret())).map_err(|_| {
                let message = "Entra issued a token with characters that no header can carry";
                CloudError::new(Category::Upstream, "", message)
            })?;
        bearer.set_sensitive(true);
        let mut request = self
            .client
            .request(call.method.clone(), url)
            .header(AUTHORIZATION, bearer)
            .header("x-ms-client-request-id", Uuid::now_v7().to_string());
        // The activity log of the subscription shows it, so that the customer can tell which launch made a call.
        if Uuid::try_parse(place.session).is_ok() {
            request = request.header("x-ms-correlation-request-id", place.session);
        }
        if call.only_if_new {
            request = request.header(IF_NONE_MATCH, "*");
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        Answer::within(ANSWER_BYTES_MAX, SYSTEM, request).await.map_err(no_answer)
    }

    fn read(&self, answer: Answer) -> Result<ArmAnswer, CloudError> {
        let after = answer.retry_after();
        if !answer.status.is_success() {
            return Err(told(answer.status, &answer.body, after));
        }
        // The state of the resource says the same as an operation on another host.
        let link = |name: &str| {
            let text = answer.headers.get(name).and_then(|value| value.to_str().ok());
            text.and_then(|text| self.own(text).ok())
        };
        let (operation, location) = (link("azure-asyncoperation"), link(LOCATION.as_str()));
        Ok(ArmAnswer { status: answer.status, body: answer.body, after, operation, location })
    }
}

pub(super) fn no_answer(error: NoAnswer) -> CloudError {
    match error {
        NoAnswer::Lost(error) => {
            let category = if error.is_timeout() { Category::Timeout } else { Category::Network };
            CloudError::new(category, "", SYSTEM.unreachable(error).to_string())
        }
        NoAnswer::TooLong { bytes_max } => {
            let message = format!("Azure sent an answer that is longer than {bytes_max} bytes");
            CloudError::new(Category::Upstream, "", message)
        }
    }
}
