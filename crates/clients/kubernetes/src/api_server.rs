//! One Kubernetes API server: its addresses, calls to it, and what its errors mean.

use std::path::PathBuf;
use std::time::Duration;

use engine::secret::{ExposeSecret, SecretString};
use http_client::{Answer, DriverError, ExternalSystem, client_builder, shorten, with_own_tls};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, Identity, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use super::kubeconfig::{ClusterCredentials, Kubeconfig};

const NAME_CHARS_MAX: usize = 253;
/// A server that starts answers 403 to callers that have the right, for about 0.1 s, until it has read the roles.
const FORBIDDEN_TRIES: u32 = 5;
const FORBIDDEN_PAUSE: Duration = Duration::from_millis(200);
/// The reason of a `Status` that is about an object, or about its namespace.
const NOT_FOUND: &str = "NotFound";
/// How the message of a 409 `AlreadyExists` begins while finalizers hold the object: it does not stay.
const BEING_DELETED: &str = "object is being deleted";
/// A token has a few kB.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub struct ApiServer {
    system: ExternalSystem,
    client: Client,
    server: Url,
    /// Read for each call, because it is replaced now and then.
    token_file: Option<PathBuf>,
}

impl ApiServer {
    /// `timeout` limits connecting and every silence; a whole call ends after twice that time.
    pub fn new(
        system: ExternalSystem,
        kubeconfig: &Kubeconfig,
        timeout: Duration,
    ) -> Result<ApiServer, DriverError> {
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let mut builder = client_builder(timeout);
        let authorities =
            kubeconfig.authority().map(|pem| Certificate::from_pem_bundle(pem).unwrap_or_default());
        if authorities.as_ref().is_some_and(Vec::is_empty) {
            return Err(system.refused("certificate-authority-data of the kubeconfig has no certificate"));
        }
        let has_certificate = matches!(kubeconfig.credentials(), ClusterCredentials::Certificate { .. });
        if authorities.is_some() || has_certificate {
            builder = with_own_tls(builder, authorities);
        }
        let mut token_file = None;
        match kubeconfig.credentials() {
            ClusterCredentials::Token(token) => {
                headers.insert(AUTHORIZATION, bearer(system, token)?);
            }
            ClusterCredentials::TokenFile(path) => token_file = Some(path.clone()),
            ClusterCredentials::Certificate { pem } => {
                let identity = Identity::from_pem(pem.expose_secret().as_bytes()).map_err(|_| {
                    system.refused("client-certificate-data and client-key-data of the kubeconfig do not fit")
                })?;
                builder = builder.identity(identity);
            }
        }
        let client = system.client(builder.default_headers(headers))?;
        Ok(ApiServer { system, client, server: kubeconfig.url().clone(), token_file })
    }

    pub fn url(&self, segments: &[&str]) -> Result<Url, DriverError> {
        let mut url = self.server.clone();
        let mut path =
            url.path_segments_mut().map_err(|()| self.system.refused("its url cannot have a path"))?;
        path.pop_if_empty().extend(segments);
        drop(path);
        Ok(url)
    }

    /// A whole answer. The body of a PATCH is a merge patch.
    pub async fn call(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Answer, DriverError> {
        let mut tries = FORBIDDEN_TRIES;
        loop {
            let request = self.request(&method, &url, body).await?;
            let answer = Answer::to(self.system, request).await?;
            tries -= 1;
            if answer.status != StatusCode::FORBIDDEN || tries == 0 {
                return Ok(answer);
            }
            sleep(FORBIDDEN_PAUSE).await;
        }
    }

    /// The beginning of an answer to a GET, whose body comes in time.
    pub async fn open(&self, url: Url) -> Result<Response, DriverError> {
        let request = self.request(&Method::GET, &url, None).await?;
        request.send().await.map_err(|error| self.system.unreachable(error))
    }

    async fn request(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
    ) -> Result<RequestBuilder, DriverError> {
        let mut request = self.client.request(method.clone(), url.clone());
        if let Some(path) = &self.token_file {
            let token = tokio::fs::read_to_string(path).await.ok();
            let token = token.filter(|token| token.len() <= TOKEN_BYTES_MAX && !token.trim().is_empty());
            let Some(token) = token else {
                return Err(self.system.broken(format!("the token cannot be read from {}", path.display())));
            };
            request = request.header(AUTHORIZATION, bearer(self.system, &token.trim().into())?);
        }
        if method == Method::PATCH {
            request = request.header(CONTENT_TYPE, "application/merge-patch+json");
        }
        Ok(match body {
            Some(body) => request.json(body),
            None => request,
        })
    }
}

fn bearer(system: ExternalSystem, token: &SecretString) -> Result<HeaderValue, DriverError> {
    let mut bearer = system.header("token", &format!("Bearer {}", token.expose_secret()))?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

/// DNS labels, joined by dots: what Kubernetes allows, and nothing that means something in a path.
pub fn object_name<'a>(system: ExternalSystem, what: &str, name: &'a str) -> Result<&'a str, DriverError> {
    let is_label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() <= NAME_CHARS_MAX && name.split('.').all(is_label) {
        Ok(name)
    } else {
        let name = shorten(name);
        Err(system
            .refused(format!("a {what} cannot be called {name:?}: use lower case letters, digits and -")))
    }
}

/// What Kubernetes answers when there is nothing better to answer. Some deletions answer the object in its place.
#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub struct ApiStatus {
    pub kind: String,
    pub reason: String,
    pub message: String,
    pub details: ApiStatusDetails,
    metadata: DeletedMetadata,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub struct ApiStatusDetails {
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct DeletedMetadata {
    deletion_timestamp: Option<String>,
}

impl ApiStatus {
    /// Some answers are text, and those of a timeout are JSON that is called text: the body decides.
    pub fn of(answer: &Answer) -> ApiStatus {
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// Whether there is an object of this name, and it is not on its way out.
    pub fn is_standing(&self) -> bool {
        self.reason == "AlreadyExists" && !self.message.starts_with(BEING_DELETED)
    }

    /// Whether an object is absent, and not its namespace or the whole API.
    pub fn is_absent(&self) -> bool {
        self.reason == NOT_FOUND && self.details.kind != "namespaces"
    }

    /// The answer of a deletion is an object that waits for its finalizers.
    pub fn is_waiting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// Only for an answer that is not a success.
pub fn api_error(answer: &Answer) -> DriverError {
    let ApiStatus { message, reason, .. } = ApiStatus::of(answer);
    let system = answer.system;
    let message = match answer.status {
        // Not about an object: the path is unknown, because the API is not installed or something else answers.
        StatusCode::NOT_FOUND if reason != NOT_FOUND => {
            "this server does not have the API; check the server of the kubeconfig".to_owned()
        }
        _ => shorten(&message),
    };
    let words =
        if message.is_empty() { answer.status.to_string() } else { format!("{}: {message}", answer.status) };
    match answer.status {
        StatusCode::NOT_FOUND if reason != NOT_FOUND => system.broken(words),
        // Another request wrote at the same time, or a list took too long to read: the next try begins anew.
        StatusCode::CONFLICT | StatusCode::GONE => system.broken(words),
        _ => answer.error(words),
    }
}
