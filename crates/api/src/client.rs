//! The HTTP client of all APIs: addresses, authentication, bounded answers, errors by format, events and waiting.

mod answer;
mod error;
mod events;
mod kept;
#[cfg(test)]
mod tests;
mod wait;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, Method, RequestBuilder, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use answer::ServerResponse;
pub use error::{CallError, ErrorFormat, ErrorResponse, Proof, brief, printable};
pub use events::{Events, Message};
pub use kept::WithUnknownFields;
pub use wait::{PollInterval, PollResult, WaitEvent, Waited};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longer than any server takes, also one that answers only when there is something new.
const CALL_LIMIT: Duration = Duration::from_secs(65);
const API_VERSION: &str = "x-broker-api-version";

/// One API, as its clients know it.
#[derive(Debug)]
pub struct Api {
    pub format: ErrorFormat,
    /// What stands before the address in messages, such as `the broker at `.
    pub noun: &'static str,
    /// What to ask when an answer is not one of this API.
    pub question: &'static str,
}

/// What a client shows to prove who it is.
#[derive(Debug, Clone, Default)]
pub enum Auth {
    #[default]
    None,
    Bearer(SecretString),
    Basic {
        user: String,
        password: SecretString,
    },
}

/// Where the server is now: one that was restarted may have another port.
pub type Locate = Arc<dyn Fn() -> Option<Url> + Send + Sync>;

/// One API of one server. Cheap to clone; clones share the address.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    api: &'static Api,
    url: Arc<Mutex<Url>>,
    locate: Option<Locate>,
    /// The segments before every path.
    base: Vec<String>,
    auth: Auth,
    headers: HeaderMap,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).field("auth", &self.auth).finish_non_exhaustive()
    }
}

impl Client {
    /// `builder` brings the certificates to trust; everything else is set here.
    pub fn new(builder: ClientBuilder, api: &'static Api, url: Url, auth: Auth) -> Result<Client, CallError> {
        let mut builder = builder
            .connect_timeout(CONNECT_LIMIT)
            // A stream sends something at least this often, or it is dead.
            .read_timeout(CALL_LIMIT)
            // A redirect would carry the credentials to a place that was not named.
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&url) {
            // A proxy would look for the server on its own machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| CallError::Unusable(error::chain(&error)))?;
        let url = Arc::new(Mutex::new(url));
        Ok(Client { http, api, url, locate: None, base: Vec::new(), auth, headers: HeaderMap::new() })
    }

    /// Asks for the address again with this when the server does not answer.
    #[must_use]
    pub fn located_by(mut self, locate: Locate) -> Client {
        self.locate = Some(locate);
        self
    }

    /// Every path begins with these segments.
    #[must_use]
    pub fn below<'a>(mut self, base: impl IntoIterator<Item = &'a str>) -> Client {
        self.base.extend(base.into_iter().map(str::to_owned));
        self
    }

    /// Sends a header with every request; its name is in lower case.
    pub fn header(mut self, name: &'static str, value: &str) -> Result<Client, CallError> {
        let bad = |_| CallError::Unusable(format!("{value:?} cannot be sent as {name}"));
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).map_err(bad)?);
        Ok(self)
    }

    /// Sends the version of the Open Service Broker API with every request.
    pub fn api_version(self, version: &str) -> Result<Client, CallError> {
        self.header(API_VERSION, version)
    }

    /// The same server with other credentials and without a base.
    #[must_use]
    pub fn with_auth(&self, auth: Auth) -> Client {
        Client { auth, base: Vec::new(), ..self.clone() }
    }

    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    pub fn url(&self) -> Url {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for the server again, if it was found and not named.
    pub fn relocate(&self) {
        if let Some(url) = self.locate.as_ref().and_then(|locate| locate()) {
            *self.url.lock().unwrap_or_else(PoisonError::into_inner) = url;
        }
    }

    /// Every part of the path is one segment, whatever it contains.
    pub fn request(&self, method: Method, path: &[&str]) -> Result<Request<'_>, CallError> {
        let parts: Vec<&str> = self.base.iter().map(String::as_str).chain(path.iter().copied()).collect();
        let mut builder =
            self.http.request(method, joined(self.url(), &parts)?).headers(self.headers.clone());
        builder = match &self.auth {
            Auth::None => builder,
            Auth::Bearer(token) => builder.bearer_auth(token.expose_secret()),
            Auth::Basic { user, password } => builder.basic_auth(user, Some(password.expose_secret())),
        };
        Ok(Request { client: self, builder })
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CallError> {
        self.request(Method::GET, path)?.read().await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, CallError> {
        self.request(Method::POST, path)?.json(body).read().await
    }

    fn lost(&self, error: &reqwest::Error) -> CallError {
        let (server, cause) = (self.name(), error::chain(error));
        if error.is_connect() {
            CallError::Unreachable { server, cause, api: self.api }
        } else {
            CallError::Lost { server, cause, api: self.api }
        }
    }

    /// An error for an answer that is not one of this API.
    pub fn unexpected(&self, what: impl Into<String>) -> CallError {
        CallError::Unexpected { server: self.name(), what: what.into(), question: self.api.question }
    }

    /// The server in messages.
    fn name(&self) -> String {
        format!("{}{}", self.api.noun, self.url().as_str().trim_end_matches('/'))
    }

    fn proof(&self) -> Proof {
        match self.auth {
            Auth::None => Proof::None,
            Auth::Bearer(_) => Proof::Token,
            Auth::Basic { .. } => Proof::Password,
        }
    }
}

/// One request before it is sent.
#[derive(Debug)]
#[must_use]
pub struct Request<'a> {
    client: &'a Client,
    builder: RequestBuilder,
}

impl<'a> Request<'a> {
    pub fn query(mut self, query: &(impl Serialize + ?Sized)) -> Self {
        self.builder = self.builder.query(query);
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    pub fn json(mut self, body: &(impl Serialize + ?Sized)) -> Self {
        self.builder = self.builder.json(body);
        self
    }

    /// The whole answer, if it is a good one or says that nothing has changed.
    pub async fn send(self) -> Result<ServerResponse<'a>, CallError> {
        let Request { client, builder } = self;
        let response = builder.timeout(CALL_LIMIT).send().await.map_err(|error| client.lost(&error))?;
        ServerResponse::read(client, response).await?.good()
    }

    /// The body of a good answer.
    pub async fn read<T: DeserializeOwned>(self) -> Result<T, CallError> {
        self.send().await?.json()
    }

    /// The stream of events that a good answer is.
    pub async fn events(self) -> Result<Events, CallError> {
        let Request { client, builder } = self;
        let request = builder.header(ACCEPT, "text/event-stream");
        let response = request.send().await.map_err(|error| client.lost(&error))?;
        if response.status().is_success() {
            return Ok(Events::new(response, client.clone()));
        }
        let answer = ServerResponse::read(client, response).await?;
        let status = answer.status;
        Err(answer.good().err().unwrap_or_else(|| client.unexpected(format!("status {status}"))))
    }
}

/// Whether the server is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

fn joined(mut url: Url, path: &[&str]) -> Result<Url, CallError> {
    // A URL drops segments of dots, however they are encoded, and would mean another path then.
    if let Some(part) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
        return Err(CallError::Unusable(format!("{part:?} cannot be a name")));
    }
    let shown = url.to_string();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(path);
        }
        Err(()) => return Err(CallError::Unusable(format!("{shown} cannot have a path"))),
    }
    Ok(url)
}
