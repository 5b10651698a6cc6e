//! Cloud accounts: the `CredentialsBinding` resources of a Gardener project, claimed by compare-and-set.

mod http;

use std::collections::BTreeMap;

use async_trait::async_trait;
use http_client::DriverError;
use serde::Deserialize;

use super::labels::{DIRTY, TENANT};

pub use self::http::HttpCredentialsBindings;

/// A cloud account, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "BindingObject")]
pub struct CredentialsBinding {
    /// What `ShootSpec::secret_binding_name` takes.
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub labels: BTreeMap<String, String>,
    /// Such as `aws`.
    pub provider: String,
}

impl CredentialsBinding {
    pub fn tenant(&self) -> Option<&str> {
        self.labels.get(TENANT).map(String::as_str)
    }

    fn is(&self, label: &str) -> bool {
        self.labels.get(label).is_some_and(|value| value == "true")
    }

    /// Nothing is released of these: they have no owner, or are released already.
    pub fn keeps_its_owner(&self) -> bool {
        self.is("shared") || self.is("internal") || self.is(DIRTY)
    }
}

/// How many shoots use each binding, by its name.
pub type BindingUsage = BTreeMap<String, u32>;

/// How a write by compare-and-set ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It has the label now, and had it already or got it from this call.
    Won(CredentialsBinding),
    /// Another writer was first, or it is gone: read again and choose again.
    Lost,
}

/// Which accounts fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountQuery {
    /// Such as `aws`, or with a region of the platform and one of the provider: `aws_cf-eu11_eu-central-1`.
    pub hyperscaler_type: String,
    pub eu_access: bool,
    /// Accounts that many tenants share.
    pub shared: bool,
    /// How many shoots an account of a tenant takes before the tenant gets another. None is no limit.
    pub shoots_max: Option<u32>,
}

impl AccountQuery {
    fn selector(&self, last: &str) -> String {
        let eu_access = if self.eu_access { "euAccess=true" } else { "!euAccess" };
        format!("hyperscalerType={},{eu_access},{last}", self.hyperscaler_type)
    }
}

/// The accounts of one Gardener project.
#[async_trait]
pub trait CredentialsBindings: Send + Sync {
    /// All bindings with these labels, sorted by name.
    async fn list(&self, selector: &str) -> Result<Vec<CredentialsBinding>, DriverError>;

    async fn get(&self, name: &str) -> Result<Option<CredentialsBinding>, DriverError>;

    /// Labels exactly the version that was read with the tenant. One that has another tenant is `Lost`.
    async fn claim(&self, binding: &CredentialsBinding, tenant: &str) -> Result<Claim, DriverError>;

    /// Labels exactly the version that was read as in need of cleaning, so that it is not used again before that.
    async fn mark_dirty(&self, binding: &CredentialsBinding) -> Result<Claim, DriverError>;

    /// How many shoots use which binding. Shoots that are being deleted count.
    async fn usage(&self) -> Result<BindingUsage, DriverError>;
}

/// The account for a new runtime of this tenant: a shared one that the fewest shoots use; else one that the tenant has,
/// the fullest below the limit; else one without a tenant, which is claimed. None if there is none to claim.
pub async fn choose_binding(
    bindings: &dyn CredentialsBindings,
    query: &AccountQuery,
    tenant: &str,
) -> Result<Option<CredentialsBinding>, DriverError> {
    if query.shared {
        let all = bindings.list(&query.selector("shared=true")).await?;
        if all.len() < 2 {
            return Ok(all.into_iter().next());
        }
        let usage = bindings.usage().await?;
        return Ok(all.into_iter().min_by_key(|binding| used(&usage, binding)));
    }
    let of_tenant = query.selector(&format!("shared!=true,!dirty,{TENANT}={tenant}"));
    let of_tenant = bindings.list(&of_tenant).await?;
    let fitting = match query.shoots_max {
        None => of_tenant.into_iter().next(),
        Some(_) if of_tenant.is_empty() => None,
        Some(max) => {
            let usage = bindings.usage().await?;
            let below = of_tenant.into_iter().filter(|binding| used(&usage, binding) < max);
            // The first of equals, so that two callers choose the same one.
            below.rev().max_by_key(|binding| used(&usage, binding))
        }
    };
    if fitting.is_some() {
        return Ok(fitting);
    }
    let free = query.selector(&format!("shared!=true,!dirty,!{TENANT}"));
    for binding in bindings.list(&free).await? {
        if let Claim::Won(binding) = bindings.claim(&binding, tenant).await? {
            return Ok(Some(binding));
        }
    }
    Ok(None)
}

fn used(usage: &BindingUsage, binding: &CredentialsBinding) -> u32 {
    usage.get(&binding.name).copied().unwrap_or_default()
}

#[derive(Deserialize)]
struct BindingObject {
    metadata: BindingMetadata,
    #[serde(default)]
    provider: BindingProvider,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct BindingMetadata {
    name: String,
    uid: String,
    resource_version: String,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BindingProvider {
    #[serde(rename = "type")]
    kind: String,
}

impl From<BindingObject> for CredentialsBinding {
    fn from(BindingObject { metadata, provider }: BindingObject) -> CredentialsBinding {
        CredentialsBinding {
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            labels: metadata.labels.unwrap_or_default(),
            provider: provider.kind,
        }
    }
}
