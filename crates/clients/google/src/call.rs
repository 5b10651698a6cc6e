//! One call: a token, a path, JSON in and JSON out.

use std::time::Duration;

use cloud::{Category, CloudAccount, CloudError};
use engine::secret::{ExposeSecret, SecretString};
use http_client::{Answer, DriverError, NoAnswer, client_builder};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::info;

use crate::error::from_answer;
use crate::paths::project;
use crate::{Google, GoogleOptions, SYSTEM};

/// A page of machine types has about one million bytes.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const IDLE_MAX: Duration = Duration::from_secs(20);
/// A list that has not ended after so many pages goes round in circles.
const PAGES_MAX: usize = 100;
/// The most that Compute Engine puts on a page.
pub(super) const PAGE_SIZE: u32 = 500;
const REASON_CHARS_MAX: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoogleService {
    Compute,
    ResourceManager,
}

/// What is asked. It may hold user data, so it is never shown.
#[derive(Clone)]
pub(super) struct Call {
    service: GoogleService,
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Call {
        let (service, method) = (GoogleService::Compute, Method::GET);
        Call { service, method, path: path.into(), query: Vec::new(), body: None }
    }

    pub(super) fn post(path: impl Into<String>, body: Value) -> Call {
        Call { method: Method::POST, body: Some(body), ..Call::get(path) }
    }

    pub(super) fn delete(path: impl Into<String>) -> Call {
        Call { method: Method::DELETE, ..Call::get(path) }
    }

    /// Asks the service that knows projects.
    #[must_use]
    pub(super) fn of_projects(self) -> Call {
        Call { service: GoogleService::ResourceManager, ..self }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.query.push((name, value.into()));
        self
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListPage<T> {
    #[serde(default = "Vec::new")]
    pub(super) items: Vec<T>,
    pub(super) next_page_token: Option<String>,
}

/// Connections, and where the services are.
pub(super) struct Http {
    pub(super) client: Client,
    compute: Url,
    resource_manager: Url,
    pub(super) token: Url,
    pub(super) iam_credentials: Url,
}

impl Http {
    pub(super) fn new(options: &GoogleOptions) -> Result<Http, DriverError> {
        Ok(Http {
            client: SYSTEM.client(client_builder(options.timeout).pool_idle_timeout(IDLE_MAX))?,
            compute: base(&options.compute)?,
            resource_manager: base(&options.resource_manager)?,
            token: base(&options.token)?,
            iam_credentials: base(&options.iam_credentials)?,
        })
    }

    pub(super) async fn answer(&self, request: RequestBuilder) -> Result<Answer, CloudError> {
        Answer::within(ANSWER_BYTES_MAX, SYSTEM, request).await.map_err(no_answer)
    }

    fn url(&self, call: &Call) -> Result<Url, CloudError> {
        let base = match call.service {
            GoogleService::Compute => &self.compute,
            GoogleService::ResourceManager => &self.resource_manager,
        };
        let mut url = joined(base, &call.path)?;
        for (name, value) in &call.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }
}

/// Tokens are sent there, so it is https or this machine.
fn base(text: &str) -> Result<Url, DriverError> {
    let url = SYSTEM.safe_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(SYSTEM.refused("its url must end with the path"));
    }
    Ok(url)
}

pub(super) fn joined(base: &Url, path: &str) -> Result<Url, CloudError> {
    let text = format!("{}/{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&text).map_err(|error| CloudError::new(Category::Invalid, "InvalidPath", error.to_string()))
}

impl Google {
    /// One call in the name of the account. A token that turns out to be invalid is renewed once.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        place: &CloudAccount<'_>,
        call: Call,
    ) -> Result<T, CloudError> {
        let token = self.tokens.token(&self.http, place).await?;
        let answer = match self.send(place, &call, &token).await? {
            answer if answer.status == StatusCode::UNAUTHORIZED => {
                self.tokens.forget(place, &token).await;
                let token = self.tokens.token(&self.http, place).await?;
                self.send(place, &call, &token).await?
            }
            answer => answer,
        };
        if !answer.status.is_success() {
            return Err(from_answer(answer.status, &answer.body, wait(&answer)));
        }
        read(&answer)
    }

    /// The same, and nothing where the cloud knows no such thing.
    pub(super) async fn find_one<T: DeserializeOwned>(
        &self,
        place: &CloudAccount<'_>,
        call: Call,
    ) -> Result<Option<T>, CloudError> {
        match self.call(place, call).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is(Category::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All pages of a list. A page may be empty and still have a next one.
    pub(super) async fn pages<T: DeserializeOwned>(
        &self,
        place: &CloudAccount<'_>,
        call: Call,
    ) -> Result<Vec<T>, CloudError> {
        let call = call.with("maxResults", PAGE_SIZE.to_string());
        let (mut all, mut next) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = match next {
                Some(token) => call.clone().with("pageToken", token),
                None => call.clone(),
            };
            let page: ListPage<T> = self.call(place, page).await?;
            all.extend(page.items);
            next = page.next_page_token.filter(|token| !token.is_empty());
            if next.is_none() {
                return Ok(all);
            }
        }
        let message = format!("the list of {} does not end after {PAGES_MAX} pages", call.path);
        Err(CloudError::new(Category::Upstream, "", message))
    }

    async fn send(
        &self,
        place: &CloudAccount<'_>,
        call: &Call,
        token: &SecretString,
    ) -> Result<Answer, CloudError> {
        let mut request = self.http.client.request(call.method.clone(), self.http.url(call)?);
        request = request
            .header(AUTHORIZATION, bearer(token)?)
            // Quota and rate are those of the account, and its audit log names the launch.
            .header("x-goog-user-project", project(place)?)
            .header("x-goog-request-reason", reason(place.session));
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        let began = self.clock.now();
        let answer = self.http.answer(request).await;
        let (ms, source) = (self.clock.now().since(began).as_millis(), &place.account.source);
        let (method, path) = (&call.method, &call.path);
        match &answer {
            Ok(answer) => {
                info!(target: "google", "{method} {path} for source {source}: {}, {ms} ms", answer.status.as_u16());
            }
            Err(error) => {
                info!(target: "google", "{method} {path} for source {source}: {}, {ms} ms", error.category.as_str());
            }
        }
        answer
    }
}

pub(super) fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, CloudError> {
    let read = answer.json("what Google Cloud is known to answer");
    read.map_err(|error| CloudError::new(Category::Upstream, "", error.to_string()))
}

pub(super) fn bearer(token: &SecretString) -> Result<HeaderValue, CloudError> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut value = value.map_err(|_| {
        CloudError::new(Category::Upstream, "", "the token has characters that no header can carry")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn reason(session: &str) -> String {
    session.chars().filter(char::is_ascii_graphic).take(REASON_CHARS_MAX).collect()
}

fn no_answer(error: NoAnswer) -> CloudError {
    match error {
        NoAnswer::Lost(error) => {
            let category = if error.is_timeout() { Category::Timeout } else { Category::Network };
            CloudError::new(category, "", SYSTEM.unreachable(error).to_string())
        }
        NoAnswer::TooLong { bytes_max } => {
            let message = format!("Google Cloud sent an answer that is longer than {bytes_max} bytes");
            CloudError::new(Category::Upstream, "", message)
        }
    }
}

/// What the cloud asked us to wait.
pub(super) fn wait(answer: &Answer) -> Option<Duration> {
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::FORBIDDEN => {
            answer.retry_after()
        }
        _ => None,
    }
}
