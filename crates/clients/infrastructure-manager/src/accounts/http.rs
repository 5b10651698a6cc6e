//! `CredentialsBindings` over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use http_client::DriverError;
use kubernetes::{ApiServer, ApiStatus, object_name};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{BindingUsage, Claim, CredentialsBinding, CredentialsBindings, DIRTY, TENANT};
use crate::SYSTEM;
use crate::api::{ApiAccess, ListObject, error, with_options};
use crate::merge::merge;
use crate::resources::WriteMode;

const GROUP: &str = "security.gardener.cloud";
const SHOOT_GROUP: &str = "core.gardener.cloud";
/// A shoot can have 50 kB.
const PAGE_SIZE: &str = "50";
/// Fifty thousand of each.
const PAGES_MAX: usize = 1000;

#[derive(Debug)]
pub struct HttpCredentialsBindings {
    api: ApiServer,
    namespace: String,
}

impl HttpCredentialsBindings {
    /// `namespace` is that of a Gardener project, such as `garden-kyma`.
    pub fn new(
        access: &ApiAccess,
        namespace: &str,
        timeout: Duration,
    ) -> Result<HttpCredentialsBindings, DriverError> {
        let namespace = object_name(SYSTEM, "namespace", namespace)?.to_owned();
        Ok(HttpCredentialsBindings { api: access.server(timeout)?, namespace })
    }

    fn bindings(&self, name: Option<&str>) -> Result<Url, DriverError> {
        let mut segments =
            vec!["apis", GROUP, "v1alpha1", "namespaces", &self.namespace, "credentialsbindings"];
        if let Some(name) = name {
            segments.push(object_name(SYSTEM, "credentials binding", name)?);
        }
        self.api.url(&segments)
    }

    /// Hands every object of a list to `each`, page by page.
    async fn pages<T: DeserializeOwned + Send>(
        &self,
        all: Url,
        mut each: impl FnMut(T) + Send,
    ) -> Result<(), DriverError> {
        let mut next = None::<String>;
        for _ in 0..PAGES_MAX {
            let mut url = all.clone();
            url.query_pairs_mut().append_pair("limit", PAGE_SIZE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let answer = self.api.call(Method::GET, url, None).await?;
            if !answer.status.is_success() {
                return Err(error(&answer));
            }
            let list: ListObject<T> = answer.json("a list")?;
            list.items.unwrap_or_default().into_iter().for_each(&mut each);
            next = list.metadata.next.filter(|next| !next.is_empty());
            if next.is_none() {
                return Ok(());
            }
        }
        Err(SYSTEM.broken(format!("a list has more than {PAGES_MAX} pages")))
    }

    /// Writes a label to exactly the version that was read. As the whole object, because not every role has `patch`.
    async fn label(
        &self,
        binding: &CredentialsBinding,
        label: &str,
        value: &str,
    ) -> Result<Claim, DriverError> {
        let url = self.bindings(Some(&binding.name))?;
        let answer = self.api.call(Method::GET, url.clone(), None).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => return Ok(Claim::Lost),
            _ => return Err(error(&answer)),
        }
        let mut object: Value = answer.json("an object")?;
        let found: CredentialsBinding = answer.json("a credentials binding")?;
        // An earlier try whose answer was lost has done it.
        if found.uid == binding.uid && found.labels.get(label).is_some_and(|found| found == value) {
            return Ok(Claim::Won(found));
        }
        if found.uid != binding.uid || found.resource_version != binding.resource_version {
            return Ok(Claim::Lost);
        }
        merge(&mut object, &json!({"metadata": {"labels": {label: value}}}));
        let answer = self.api.call(Method::PUT, with_options(url, WriteMode::Apply), Some(&object)).await?;
        match answer.status {
            status if status.is_success() => answer.json("a credentials binding").map(Claim::Won),
            StatusCode::CONFLICT => Ok(Claim::Lost),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(Claim::Lost),
            _ => Err(error(&answer)),
        }
    }
}

#[derive(Deserialize)]
struct ShootObject {
    spec: Option<ShootFields>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ShootFields {
    credentials_binding_name: Option<String>,
    /// Of shoots from before there were credentials bindings.
    secret_binding_name: Option<String>,
}

#[async_trait]
impl CredentialsBindings for HttpCredentialsBindings {
    async fn list(&self, selector: &str) -> Result<Vec<CredentialsBinding>, DriverError> {
        let mut url = self.bindings(None)?;
        url.query_pairs_mut().append_pair("labelSelector", selector);
        let mut found = Vec::new();
        self.pages(url, |binding| found.push(binding)).await?;
        found.sort_by(|one: &CredentialsBinding, other| one.name.cmp(&other.name));
        Ok(found)
    }

    async fn get(&self, name: &str) -> Result<Option<CredentialsBinding>, DriverError> {
        let answer = self.api.call(Method::GET, self.bindings(Some(name))?, None).await?;
        match answer.status {
            StatusCode::OK => answer.json("a credentials binding").map(Some),
            StatusCode::NOT_FOUND if ApiStatus::of(&answer).is_absent() => Ok(None),
            _ => Err(error(&answer)),
        }
    }

    async fn claim(&self, binding: &CredentialsBinding, tenant: &str) -> Result<Claim, DriverError> {
        if binding.tenant().is_some_and(|owner| owner != tenant) {
            return Ok(Claim::Lost);
        }
        self.label(binding, TENANT, tenant).await
    }

    async fn mark_dirty(&self, binding: &CredentialsBinding) -> Result<Claim, DriverError> {
        self.label(binding, DIRTY, "true").await
    }

    async fn usage(&self) -> Result<BindingUsage, DriverError> {
        let shoots = ["apis", SHOOT_GROUP, "v1beta1", "namespaces", &self.namespace, "shoots"];
        let mut usage = BindingUsage::new();
        let count = |shoot: ShootObject| {
            let spec = shoot.spec.unwrap_or_default();
            if let Some(name) = spec.credentials_binding_name.or(spec.secret_binding_name) {
                *usage.entry(name).or_default() += 1;
            }
        };
        self.pages(self.api.url(&shoots)?, count).await?;
        Ok(usage)
    }
}
