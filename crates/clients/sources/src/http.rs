//! Sources over HTTP.

use std::time::Duration;

use cloud::{Account, ProviderKind};
use http_client::DriverError;
use identity::{IdentityService, Organisation};
use reqwest::Method;
use serde::de::DeserializeOwned;

use super::wire::{AuthenticationBody, SourceBody, SourcePage, TypeBody, cloud_name, clouds};
use super::{Link, SYSTEM, Source};

/// What an application of ours is called there.
const APPLICATION: &str = "/insights/platform/provisioning";
const PAGE: usize = 100;
/// Ten thousand accounts of one organisation.
const PAGES_MAX: usize = 100;
const ID_CHARS_MAX: usize = 64;

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct SourcesApi {
    service: IdentityService,
}

impl SourcesApi {
    /// `url` ends with the version of the API, such as `/api/sources/v3.1`. `timeout` limits connecting, and then
    /// every silence of the external system.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        Ok(SourcesApi { service: IdentityService::new(SYSTEM, url, timeout)? })
    }

    /// The sources that let us launch, of one cloud or of all.
    pub async fn list(
        &self,
        who: &Organisation,
        provider: Option<ProviderKind>,
    ) -> Result<Vec<Source>, DriverError> {
        let cloud = match provider.map(cloud_name) {
            Some(None) => return Ok(Vec::new()),
            Some(Some(name)) => vec![("filter[source_type][name]", name)],
            None => vec![],
        };
        let applications = self.all::<TypeBody>(who, &["application_types"], &[]).await?;
        let Some(ours) = applications.into_iter().find(|one| one.name == APPLICATION) else {
            return Err(SYSTEM.broken(format!("it does not know the application {APPLICATION}")));
        };
        let clouds = clouds(self.all(who, &["source_types"], &[]).await?);
        let sources =
            self.all::<SourceBody>(who, &["application_types", &ours.id, "sources"], &cloud).await?;
        let sources = sources.into_iter().filter_map(|body| body.into_source(&clouds));
        Ok(sources.filter(|source| provider.is_none_or(|provider| source.provider == provider)).collect())
    }

    /// The account behind a source, and how we get in. `None` where the organisation has no such source, or has it
    /// for other applications only.
    pub async fn account(&self, who: &Organisation, id: &str) -> Result<Option<Account>, DriverError> {
        Ok(self.link(who, id).await?.map(|link| link.account))
    }

    /// As `account`, with what Sources wants to hear about later.
    pub async fn link(&self, who: &Organisation, id: &str) -> Result<Option<Link>, DriverError> {
        // Nothing else is an id there, and dots would lead the call to another place.
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(1..=ID_CHARS_MAX).contains(&id.len()) || !id.bytes().all(is_id) {
            return Ok(None);
        }
        let call = self.service.request(Method::GET, &["sources", id, "authentications"], &who.into());
        let Some(answer) = self.service.find(call).await? else { return Ok(None) };
        let page = answer.json::<SourcePage<AuthenticationBody>>("a list of authentications")?;
        page.data.into_iter().find_map(|body| body.into_link(&who.org, id)).transpose()
    }

    /// Whether it takes calls at all. Changes nothing.
    pub async fn ready(&self, who: &Organisation) -> Result<(), DriverError> {
        let call = self.service.request(Method::GET, &["application_types"], &who.into());
        self.service.ask(call.query(&[("limit", 1)])).await.map(|_| ())
    }

    async fn all<T: DeserializeOwned>(
        &self,
        who: &Organisation,
        path: &[&str],
        filter: &[(&str, &str)],
    ) -> Result<Vec<T>, DriverError> {
        let mut all = Vec::new();
        for page in 0..PAGES_MAX {
            let call = self.service.request(Method::GET, path, &who.into());
            let call = call.query(&[("limit", PAGE), ("offset", page * PAGE)]).query(filter);
            let answer = self.service.ask(call).await?;
            let SourcePage { meta, data } = answer.json::<SourcePage<T>>("a list")?;
            let is_last = data.len() < PAGE;
            all.extend(data);
            if is_last || meta.count.is_some_and(|count| all.len() as u64 >= count) {
                return Ok(all);
            }
        }
        Err(SYSTEM.broken(format!("its list has more than {} entries", PAGE * PAGES_MAX)))
    }
}
