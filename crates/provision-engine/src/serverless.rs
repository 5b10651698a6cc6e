//! How commands talk to the door for serverless runtimes, in the name of a user of OpenNebula.

mod error;
mod place;
mod runtime;

use std::time::Duration;

use anyhow::Result;
use doors::serverless::wire::{Operation, Progress};
use reqwest::{Method, RequestBuilder, Response, Url};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;
use workflows::serverless::Credentials;

use crate::cli::Global;
use crate::client::Address;

pub(crate) use error::DoorError;
pub(crate) use place::DoorArgs;
pub(crate) use runtime::{Role, Runtime, State};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// No change waits for its end, and reading takes a few calls to OpenNebula at most.
const CALL_LIMIT: Duration = Duration::from_secs(65);
/// The largest page of runtimes fits many times over.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

const PREFER: (&str, &str) = ("Prefer", "respond-async");
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

type Answered<T> = Result<T, DoorError>;

/// One door and who knocks.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    http: reqwest::Client,
    address: Address,
    credentials: Credentials,
}

#[derive(serde::Deserialize)]
struct Envelope {
    #[serde(rename = "SERVERLESS_RUNTIME")]
    runtime: Runtime,
}

#[derive(serde::Deserialize)]
struct Listing {
    #[serde(rename = "SERVERLESS_RUNTIMES")]
    runtimes: Vec<Runtime>,
}

impl Door {
    pub(crate) fn find(global: &Global, args: &DoorArgs) -> Result<Door> {
        let credentials = args.credentials()?;
        let address = Address::find(global)?;
        let mut builder = drivers::http_client()
            .connect_timeout(CONNECT_LIMIT)
            // A redirect would carry the password to a place that nobody named.
            .redirect(reqwest::redirect::Policy::none());
        if address.is_loopback() {
            // A proxy would look for the server on its own machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| DoorError::Unusable(error.to_string()))?;
        Ok(Door { http, address, credentials })
    }

    /// The same server, looked for again: one that was restarted may have another port.
    pub(crate) fn look_again(&mut self) {
        self.address.look_again();
    }

    pub(crate) async fn runtime(&self, id: i32) -> Answered<Runtime> {
        let envelope: Envelope = self.call(self.request(Method::GET, &[&id.to_string()])?).await?;
        Ok(envelope.runtime)
    }

    /// A page of runtimes, the newest first.
    pub(crate) async fn runtimes(&self, query: &[(&str, String)]) -> Answered<Vec<Runtime>> {
        let listing: Listing = self.call(self.request(Method::GET, &[])?.query(query)).await?;
        Ok(listing.runtimes)
    }

    /// The same key with the same body is the same runtime.
    pub(crate) async fn create(&self, body: &Value, key: &str) -> Answered<Operation> {
        let request = self.request(Method::POST, &[])?.header(IDEMPOTENCY_KEY, key);
        self.change(request.json(body)).await
    }

    pub(crate) async fn update(&self, id: i32, body: &Value) -> Answered<Operation> {
        self.change(self.request(Method::PUT, &[&id.to_string()])?.json(body)).await
    }

    pub(crate) async fn delete(&self, id: i32) -> Answered<Operation> {
        self.change(self.request(Method::DELETE, &[&id.to_string()])?).await
    }

    pub(crate) async fn operation(&self, id: Uuid) -> Answered<Operation> {
        let request = self.request(Method::GET, &["operations", &id.to_string()])?;
        let progress: Progress = self.call(request).await?;
        Ok(progress.operation)
    }

    /// The answer comes at once, so that a change survives the connection on which it was asked for.
    async fn change(&self, request: RequestBuilder) -> Answered<Operation> {
        let progress: Progress = self.call(request.header(PREFER.0, PREFER.1)).await?;
        Ok(progress.operation)
    }

    fn request(&self, method: Method, path: &[&str]) -> Answered<RequestBuilder> {
        let url = joined(self.address.url(), path)?;
        let Credentials { user, .. } = &self.credentials;
        Ok(self.http.request(method, url).basic_auth(user, Some(self.credentials.secret().expose_secret())))
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Answered<T> {
        let response = request.timeout(CALL_LIMIT).send().await.map_err(|error| self.lost(error))?;
        let status = response.status();
        let bytes = self.read(response).await?;
        if !status.is_success() {
            return Err(DoorError::refused(self.address.url(), status, &bytes));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| self.strange(&format!("an answer that cannot be read: {error}")))
    }

    async fn read(&self, mut response: Response) -> Answered<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.strange("an endless answer"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn lost(&self, error: reqwest::Error) -> DoorError {
        DoorError::lost(self.address.url(), error)
    }

    fn strange(&self, what: &str) -> DoorError {
        DoorError::strange(self.address.url(), what)
    }
}

fn joined(base: &Url, path: &[&str]) -> Answered<Url> {
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().push("serverless-runtimes").extend(path);
        }
        Err(()) => return Err(DoorError::Unusable(format!("{base} cannot have a path"))),
    }
    Ok(url)
}
