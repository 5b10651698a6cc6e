//! How commands talk to the door for launches, on behalf of an organisation.

pub(crate) mod csv;
mod error;
mod image;
mod inventory;
mod launch;

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use doors::launch::distributions::DistributionList;
use doors::launch::inventory::wire::{InventoryInstance, Termination};
use doors::launch::{BASE, wire};
use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::client::Address;

pub(crate) use error::LaunchingError;
pub(crate) use image::Image;
pub(crate) use inventory::Item;
#[cfg(test)]
pub(crate) use launch::tests::launch as launch_with;
pub(crate) use launch::{Instance, Launch, Step};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longer than any answer takes, also one that waits for something new.
const CALL_LIMIT: Duration = Duration::from_secs(65);
/// The largest list of instance types fits many times over.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const ORG_ID: &str = "X-Org-Id";

type Answered<T> = Result<T, LaunchingError>;

/// On whose behalf
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OrgArgs {
    /// The organisation to act for, which only an admin may choose; else the one of the token
    #[arg(long, global = true, value_name = "ORG", env = "PROVISION_ENGINE_ORG", hide_env_values = true)]
    org: Option<String>,
}

/// One door and who knocks.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    http: reqwest::Client,
    address: Address,
    org: Option<String>,
}

/// A launch and the name of this version of it.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) launch: Launch,
    pub(crate) etag: Option<String>,
}

/// A page of something, and how many there are on all pages.
#[derive(serde::Deserialize)]
pub(crate) struct Page<T> {
    pub(crate) data: Vec<T>,
    metadata: Total,
}

#[derive(serde::Deserialize)]
struct Total {
    total: u64,
}

#[derive(serde::Deserialize)]
struct InventoryPage {
    data: Vec<Item>,
    next: String,
}

impl<T> Page<T> {
    /// Whether there are more behind this page, which begins at `offset`.
    pub(crate) fn has_more(&self, offset: usize) -> bool {
        let seen = u64::try_from(offset + self.data.len()).unwrap_or(u64::MAX);
        !self.data.is_empty() && seen < self.metadata.total
    }
}

impl Door {
    pub(crate) fn find(global: &Global, args: &OrgArgs) -> Result<Door> {
        let address = Address::find(global)?;
        let mut builder = drivers::http_client()
            .connect_timeout(CONNECT_LIMIT)
            // A redirect would carry the token to a place that nobody named.
            .redirect(reqwest::redirect::Policy::none());
        if address.is_loopback() {
            // A proxy would look for the server on its own machine.
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| LaunchingError::Unusable(error.to_string()))?;
        let org = args.org.clone().filter(|org| !org.is_empty());
        Ok(Door { http, address, org })
    }

    /// The same server, looked for again: one that was restarted may have another port.
    pub(crate) fn look_again(&mut self) {
        self.address.look_again();
    }

    /// The same key with the same body is the same launch.
    pub(crate) async fn create(&self, body: &Value, key: &str) -> Answered<Launch> {
        let request = self.request(Method::POST, &["launches"])?.header(IDEMPOTENCY_KEY, key);
        self.call(request.json(body)).await
    }

    pub(crate) async fn launch(&self, name: &str) -> Answered<Launch> {
        self.call(self.request(Method::GET, &["launches", name])?).await
    }

    /// The launch when it is another version than the one that we have, or nothing after a while.
    pub(crate) async fn look(
        &self,
        name: &str,
        has: Option<&str>,
        wait: Duration,
    ) -> Answered<Option<Version>> {
        let mut request = self.request(Method::GET, &["launches", name])?;
        if let Some(etag) = has {
            request = request.header(IF_NONE_MATCH, etag).query(&[("wait", format!("{}s", wait.as_secs()))]);
        }
        let response = self.send(request).await?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        Ok(Some(Version { launch: self.read(response).await?, etag }))
    }

    pub(crate) async fn launches(&self, query: &[(&str, String)]) -> Answered<Page<Launch>> {
        self.list("launches", query).await
    }

    pub(crate) async fn give(&self, name: &str, parameters: &Value) -> Answered<Launch> {
        self.call(self.request(Method::POST, &["launches", name, "parameters"])?.json(parameters)).await
    }

    /// `terminate` says that its instances may be lost.
    pub(crate) async fn cancel(&self, name: &str, terminate: bool) -> Answered<Launch> {
        let request = self.request(Method::POST, &["launches", name, "cancel"])?;
        self.call(request.query(&[("terminate", terminate)])).await
    }

    /// `verb` is `retry`, `cleanup` or `detach`.
    pub(crate) async fn ask(&self, name: &str, verb: &str) -> Answered<Launch> {
        self.call(self.request(Method::POST, &["launches", name, verb])?).await
    }

    pub(crate) async fn images(&self, query: &[(&str, String)]) -> Answered<Page<Image>> {
        self.list("images", query).await
    }

    /// What the caller may build.
    pub(crate) async fn distributions(&self) -> Answered<DistributionList> {
        self.call(self.request(Method::GET, &["distributions"])?).await
    }

    /// The instances of some launches, and the number of the last of these if there are more.
    pub(crate) async fn inventory(&self, after: Option<i64>) -> Answered<(Vec<Item>, Option<i64>)> {
        let request = self.request(Method::GET, &["inventory"])?;
        let page: InventoryPage = self.call(request.query(&[("after", after)])).await?;
        let next = self.address.url().join(&page.next).ok();
        let next = next.and_then(|url| {
            let (_, number) = url.query_pairs().find(|(name, _)| name == "after")?;
            number.parse().ok()
        });
        // A page that leads to itself would be read for ever.
        Ok((page.data, next.filter(|next| after.is_none_or(|after| *next > after))))
    }

    /// One instance, and how far its end is.
    pub(crate) async fn instance(&self, id: &str) -> Answered<InventoryInstance> {
        self.call(self.request(Method::GET, &["inventory", id])?).await
    }

    pub(crate) async fn terminate(&self, id: &str) -> Answered<Termination> {
        self.call(self.request(Method::DELETE, &["inventory", id])?).await
    }

    pub(crate) async fn pubkeys(&self, query: &[(&str, String)]) -> Answered<Page<wire::Pubkey>> {
        self.list("pubkeys", query).await
    }

    pub(crate) async fn pubkey(&self, id: i64) -> Answered<wire::Pubkey> {
        self.call(self.request(Method::GET, &["pubkeys", &id.to_string()])?).await
    }

    pub(crate) async fn add_pubkey(&self, name: &str, body: &str) -> Answered<wire::Pubkey> {
        let body = json!({"name": name, "body": body});
        self.call(self.request(Method::POST, &["pubkeys"])?.json(&body)).await
    }

    /// What could not be deleted in the clouds.
    pub(crate) async fn delete_pubkey(&self, id: i64) -> Answered<Vec<String>> {
        let response = self.send(self.request(Method::DELETE, &["pubkeys", &id.to_string()])?).await?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(Vec::new());
        }
        Ok(self.read::<wire::Warnings>(response).await?.warnings)
    }

    pub(crate) async fn sources(&self, query: &[(&str, String)]) -> Answered<Page<wire::Source>> {
        self.list("sources", query).await
    }

    pub(crate) async fn source(&self, id: &str) -> Answered<wire::Source> {
        self.call(self.request(Method::GET, &["sources", id])?).await
    }

    pub(crate) async fn add_source(&self, body: &impl Serialize) -> Answered<wire::Source> {
        self.call(self.request(Method::POST, &["sources"])?.json(body)).await
    }

    pub(crate) async fn delete_source(&self, id: &str) -> Answered<()> {
        self.send(self.request(Method::DELETE, &["sources", id])?).await.map(drop)
    }

    /// Whether the cloud lets us in.
    pub(crate) async fn check_source(&self, id: &str) -> Answered<()> {
        self.send(self.request(Method::GET, &["sources", id, "status"])?).await.map(drop)
    }

    pub(crate) async fn permissions(&self, id: &str, region: Option<&str>) -> Answered<wire::Validity> {
        let request = self.request(Method::GET, &["sources", id, "validate_permissions"])?;
        self.call(request.query(&[("region", region)])).await
    }

    pub(crate) async fn upload_info(&self, id: &str) -> Answered<wire::UploadInfo> {
        self.call(self.request(Method::GET, &["sources", id, "upload_info"])?).await
    }

    pub(crate) async fn instance_types(
        &self,
        provider: &str,
        query: &[(&str, String)],
    ) -> Answered<Vec<wire::InstanceType>> {
        let request = self.request(Method::GET, &["instance_types", provider])?.query(query);
        Ok(self.call::<wire::InstanceTypes>(request).await?.data)
    }

    /// How many instance types there are now.
    pub(crate) async fn refresh_types(&self, provider: &str, source: &str, region: &str) -> Answered<usize> {
        let request = self.request(Method::POST, &["instance_types", provider, "refresh"])?;
        let request = request.query(&[("source_id", source), ("region", region)]);
        Ok(self.call::<wire::Refreshed>(request).await?.types)
    }

    async fn list<T: DeserializeOwned>(&self, what: &str, query: &[(&str, String)]) -> Answered<Page<T>> {
        self.call(self.request(Method::GET, &[what])?.query(query)).await
    }

    /// Every part is one segment, whatever it contains.
    fn request(&self, method: Method, path: &[&str]) -> Answered<RequestBuilder> {
        let mut request = self.http.request(method, joined(self.address.url(), path)?).timeout(CALL_LIMIT);
        if let Some(token) = self.address.token() {
            request = request.bearer_auth(token);
        }
        if let Some(org) = &self.org {
            request = request.header(ORG_ID, org);
        }
        Ok(request)
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Answered<T> {
        let response = self.send(request).await?;
        self.read(response).await
    }

    /// The answer, if it is a good one.
    async fn send(&self, request: RequestBuilder) -> Answered<Response> {
        let response = request.send().await.map_err(|error| self.lost(error))?;
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let body = self.bytes(response).await?;
        let has_token = self.address.token().is_some();
        Err(LaunchingError::refused(self.address.url(), status, &body, has_token))
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Answered<T> {
        serde_json::from_slice(&self.bytes(response).await?)
            .map_err(|error| self.strange(&format!("an answer that cannot be read: {error}")))
    }

    async fn bytes(&self, mut response: Response) -> Answered<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.strange("an endless answer"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn lost(&self, error: reqwest::Error) -> LaunchingError {
        LaunchingError::lost(self.address.url(), error)
    }

    fn strange(&self, what: &str) -> LaunchingError {
        LaunchingError::strange(self.address.url(), what)
    }
}

fn joined(base: &Url, path: &[&str]) -> Answered<Url> {
    // A URL drops segments of dots, however they are encoded, and would mean another path then.
    if let Some(part) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
        return Err(LaunchingError::Unusable(format!("{part:?} cannot be a name")));
    }
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(BASE.split('/').filter(|part| !part.is_empty())).extend(path);
        }
        Err(()) => return Err(LaunchingError::Unusable(format!("{base} cannot have a path"))),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment_whatever_it_contains() {
        let url =
            |base: &str, name| joined(&base.parse().unwrap(), &["launches", name]).map(String::from).ok();
        assert_eq!(url("http://h:1", "7").as_deref(), Some("http://h:1/api/provisioning/v1/launches/7"));
        let odd = url("http://h:1/base/", "a/b?c");
        assert_eq!(odd.as_deref(), Some("http://h:1/base/api/provisioning/v1/launches/a%2Fb%3Fc"));
        assert_eq!(url("http://h:1", ".."), None);
    }
}
