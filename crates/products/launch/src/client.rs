//! A client of the launch API, on behalf of an organisation.

mod launch;

use std::time::Duration;

use crate::api::distributions::DistributionList;
use crate::api::inventory::list::InventoryItem;
use crate::api::inventory::wire::{InventoryInstance, Termination};
use crate::api::types::{self, NewLaunch, NewParameters};
use crate::api::{BASE, images, wire};
use api::client::{Api, Client, ErrorFormat, WithUnknownFields};
use clap::Args;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use app::cli::Global;
use app::client::{Address, CallResult};

#[cfg(test)]
pub(crate) use launch::tests::launch as launch_with;

pub(crate) type LaunchDetails = WithUnknownFields<types::Launch>;
pub(crate) type Image = WithUnknownFields<images::Image>;
pub(crate) type Item = WithUnknownFields<InventoryItem>;

static LAUNCH: Api = Api {
    format: ErrorFormat::Insights,
    noun: "",
    question: "does it offer launches? Its setting launch.enabled says so",
};

/// On whose behalf
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OrgArgs {
    /// The organisation to act for, which only an admin may choose; else the one of the token
    #[arg(long, global = true, value_name = "ORG", env = "PROVISION_ENGINE_ORG", hide_env_values = true)]
    org: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct LaunchClient {
    pub(crate) http: Client,
}

/// A launch and the name of this version of it.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) launch: LaunchDetails,
    pub(crate) etag: Option<String>,
}

/// A page of something, and how many there are on all pages.
#[derive(serde::Deserialize)]
pub(crate) struct ListPage<T> {
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

impl<T> ListPage<T> {
    /// Whether there are more behind this page, which begins at `offset`.
    pub(crate) fn has_more(&self, offset: usize) -> bool {
        let seen = u64::try_from(offset + self.data.len()).unwrap_or(u64::MAX);
        !self.data.is_empty() && seen < self.metadata.total
    }
}

impl LaunchClient {
    pub(crate) fn find(global: &Global, args: &OrgArgs) -> anyhow::Result<LaunchClient> {
        let address = Address::find(global)?;
        let client = address.client(&LAUNCH, address.token())?;
        let client = client.below(BASE.split('/').filter(|part| !part.is_empty()));
        Ok(LaunchClient {
            http: match args.org.as_deref().filter(|org| !org.is_empty()) {
                Some(org) => client.header("x-org-id", org)?,
                None => client,
            },
        })
    }

    /// The same key with the same body is the same launch.
    pub(crate) async fn create(&self, request: &NewLaunch, key: &str) -> CallResult<LaunchDetails> {
        let call = self.http.request(Method::POST, &["launches"])?.header("Idempotency-Key", key);
        call.json(&given(request)).read().await
    }

    pub(crate) async fn launch(&self, name: &str) -> CallResult<LaunchDetails> {
        self.http.get(&["launches", name]).await
    }

    /// The launch when it is another version than the one that we have, or nothing after a while.
    pub(crate) async fn look(
        &self,
        name: &str,
        has: Option<&str>,
        wait: Duration,
    ) -> CallResult<Option<Version>> {
        let mut request = self.http.request(Method::GET, &["launches", name])?;
        if let Some(etag) = has {
            request = request
                .header(IF_NONE_MATCH.as_str(), etag)
                .query(&[("wait", format!("{}s", wait.as_secs()))]);
        }
        let answer = request.send().await?;
        if answer.status == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let etag = answer.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        Ok(Some(Version { launch: answer.json()?, etag }))
    }

    pub(crate) async fn launches(&self, query: &[(&str, String)]) -> CallResult<ListPage<LaunchDetails>> {
        self.list("launches", query).await
    }

    pub(crate) async fn submit_parameters(
        &self,
        name: &str,
        parameters: &NewParameters,
    ) -> CallResult<LaunchDetails> {
        self.http.post(&["launches", name, "parameters"], &given(parameters)).await
    }

    /// `terminate` says that its instances may be lost.
    pub(crate) async fn cancel(&self, name: &str, terminate: bool) -> CallResult<LaunchDetails> {
        let request = self.http.request(Method::POST, &["launches", name, "cancel"])?;
        request.query(&[("terminate", terminate)]).read().await
    }

    /// `verb` is `retry`, `cleanup` or `detach`.
    pub(crate) async fn ask(&self, name: &str, verb: &str) -> CallResult<LaunchDetails> {
        self.http.request(Method::POST, &["launches", name, verb])?.read().await
    }

    pub(crate) async fn images(&self, query: &[(&str, String)]) -> CallResult<ListPage<Image>> {
        self.list("images", query).await
    }

    /// What the caller may build.
    pub(crate) async fn distributions(&self) -> CallResult<DistributionList> {
        self.http.get(&["distributions"]).await
    }

    /// The instances of some launches, newest first, and the number of the last of these if there are more.
    pub(crate) async fn inventory(&self, after: Option<i64>) -> CallResult<(Vec<Item>, Option<i64>)> {
        let request = self.http.request(Method::GET, &["inventory"])?;
        let page: InventoryPage =
            request.query(&[("sort", "-launched_at")]).query(&[("after", after)]).read().await?;
        let next = self.http.url().join(&page.next).ok();
        let next = next.and_then(|url| {
            let (_, number) = url.query_pairs().find(|(name, _)| name == "after")?;
            number.parse().ok()
        });
        // A page that leads to itself would be read for ever.
        Ok((page.data, next.filter(|next| after.is_none_or(|after| *next < after))))
    }

    /// One instance, and how far its end is.
    pub(crate) async fn instance(&self, id: &str) -> CallResult<InventoryInstance> {
        self.http.get(&["inventory", id]).await
    }

    pub(crate) async fn terminate(&self, id: &str) -> CallResult<Termination> {
        self.http.request(Method::DELETE, &["inventory", id])?.read().await
    }

    pub(crate) async fn public_keys(
        &self,
        query: &[(&str, String)],
    ) -> CallResult<ListPage<wire::PublicKeyResponse>> {
        self.list("pubkeys", query).await
    }

    pub(crate) async fn public_key(&self, id: i64) -> CallResult<wire::PublicKeyResponse> {
        self.http.get(&["pubkeys", &id.to_string()]).await
    }

    pub(crate) async fn add_public_key(
        &self,
        key: &wire::NewPublicKey,
    ) -> CallResult<wire::PublicKeyResponse> {
        self.http.post(&["pubkeys"], key).await
    }

    /// What could not be deleted in the clouds.
    pub(crate) async fn delete_public_key(&self, id: i64) -> CallResult<Vec<String>> {
        let answer = self.http.request(Method::DELETE, &["pubkeys", &id.to_string()])?.send().await?;
        if answer.status == StatusCode::NO_CONTENT {
            return Ok(Vec::new());
        }
        Ok(answer.json::<wire::Warnings>()?.warnings)
    }

    pub(crate) async fn sources(&self, query: &[(&str, String)]) -> CallResult<ListPage<wire::Source>> {
        self.list("sources", query).await
    }

    pub(crate) async fn source(&self, id: &str) -> CallResult<wire::Source> {
        self.http.get(&["sources", id]).await
    }

    pub(crate) async fn add_source(&self, source: &wire::NewSource) -> CallResult<wire::Source> {
        self.http.post(&["sources"], &given(source)).await
    }

    pub(crate) async fn delete_source(&self, id: &str) -> CallResult<()> {
        self.http.request(Method::DELETE, &["sources", id])?.send().await.map(drop)
    }

    /// Whether the cloud lets us in.
    pub(crate) async fn check_source(&self, id: &str) -> CallResult<()> {
        self.http.request(Method::GET, &["sources", id, "status"])?.send().await.map(drop)
    }

    pub(crate) async fn permissions(&self, id: &str, region: Option<&str>) -> CallResult<wire::Validity> {
        let request = self.http.request(Method::GET, &["sources", id, "validate_permissions"])?;
        request.query(&[("region", region)]).read().await
    }

    pub(crate) async fn upload_info(&self, id: &str, image: Option<&str>) -> CallResult<wire::UploadInfo> {
        let request = self.http.request(Method::GET, &["sources", id, "upload_info"])?;
        request.query(&[("image_id", image)]).read().await
    }

    pub(crate) async fn instance_types(
        &self,
        provider: &str,
        query: &[(&str, String)],
    ) -> CallResult<Vec<wire::InstanceType>> {
        let request = self.http.request(Method::GET, &["instance_types", provider])?.query(query);
        Ok(request.read::<wire::InstanceTypes>().await?.data)
    }

    /// How many instance types there are now.
    pub(crate) async fn refresh_types(
        &self,
        provider: &str,
        source: &str,
        region: &str,
    ) -> CallResult<usize> {
        let request = self.http.request(Method::POST, &["instance_types", provider, "refresh"])?;
        let request = request.query(&[("source_id", source), ("region", region)]);
        Ok(request.read::<wire::Refreshed>().await?.types)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &[(&str, String)],
    ) -> CallResult<ListPage<T>> {
        self.http.request(Method::GET, &[what])?.query(query).read().await
    }
}

/// A request without what is not given: a server refuses a member that it does not know, also an empty one. What is
/// passed on to the Image Builder lies deeper and stays as it is.
pub(crate) fn given(request: &impl Serialize) -> Value {
    without_nulls(serde_json::to_value(request).unwrap_or_default(), 2)
}

fn without_nulls(value: Value, depth: u8) -> Value {
    match value {
        Value::Object(members) if depth > 0 => {
            let given = members.into_iter().filter(|(_, value)| !value.is_null());
            given.map(|(name, value)| (name, without_nulls(value, depth - 1))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_given_is_sent_and_a_build_as_it_was_written() {
        let request = json!({
            "provider": "aws", "profile": null, "parameters": {"region": null, "amount": 1},
            "image": {"id": null, "build": {"customizations": null}},
        });
        let expected = json!({
            "provider": "aws", "parameters": {"amount": 1}, "image": {"build": {"customizations": null}},
        });
        assert_eq!(given(&request), expected);
    }
}
