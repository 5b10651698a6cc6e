//! Cloud accounts that are `CredentialsBinding` resources of a Gardener project. Which tenant has one is a label of the
//! resource, so that this engine and others never give one account to two tenants.

use std::sync::Arc;

use engine::Halt;
use infrastructure_manager::{AccountQuery, Claim, CredentialsBinding, CredentialsBindings, choose_binding};

use super::account_rules::AccountRules;
use super::catalog::CatalogPlan;
use super::instance::InstanceRecord;
use super::records::Records;

#[derive(Clone)]
pub struct BoundAccounts {
    pub bindings: Arc<dyn CredentialsBindings>,
    pub rules: Arc<AccountRules>,
    /// How many clusters an account of a tenant takes before the tenant gets another.
    pub clusters_max: Option<u32>,
    pub records: Records,
}

/// How the release of an account ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Done,
    /// A cluster is still in it, and no instance that we know has it.
    StillUsed,
}

/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

impl BoundAccounts {
    /// The account for the cluster of this instance. `None` when all are taken.
    pub(crate) async fn claim(
        &self,
        instance: &InstanceRecord,
        plan: &CatalogPlan,
        eu_access: bool,
    ) -> Result<Option<String>, Halt> {
        let query = self.query(instance, plan, eu_access).map_err(Halt::fail)?;
        let chosen = choose_binding(&*self.bindings, &query, &instance.account).await?;
        Ok(chosen.map(|binding| binding.name))
    }

    /// Whether the instance may use the account with this name: a shared one, one of its tenant, or a free one, which is
    /// claimed.
    pub(crate) async fn claim_named(&self, name: &str, instance: &InstanceRecord) -> Result<bool, Halt> {
        for _ in 0..LOOKS_MAX {
            let Some(binding) = self.bindings.get(name).await? else { return Ok(false) };
            if binding.provider != instance.provider || is_dirty(&binding) {
                return Ok(false);
            }
            match binding.tenant() {
                Some(tenant) => return Ok(tenant == instance.account),
                None if binding.keeps_its_owner() => return Ok(true),
                None => {}
            }
            if let Claim::Won(_) = self.bindings.claim(&binding, &instance.account).await? {
                return Ok(true);
            }
        }
        Err(contended(name))
    }

    /// Whether the account was marked for cleaning meanwhile. Looked at after the record names the account: a release that
    /// did not see the record has marked the account before.
    pub(crate) async fn is_still_ours(&self, name: &str) -> Result<bool, Halt> {
        Ok(self.bindings.get(name).await?.is_some_and(|binding| !is_dirty(&binding)))
    }

    /// Marks the account for cleaning when its last cluster is gone. The record of the instance does not name the account
    /// any more.
    pub(crate) async fn release(&self, name: &str) -> Result<Release, Halt> {
        for _ in 0..LOOKS_MAX {
            let Some(binding) = self.bindings.get(name).await? else { return Ok(Release::Done) };
            if binding.keeps_its_owner() || binding.tenant().is_none() {
                return Ok(Release::Done);
            }
            if !self.records.labelled::<InstanceRecord>("cloud_account", name).await?.is_empty() {
                return Ok(Release::Done);
            }
            if self.bindings.usage().await?.get(name).is_some_and(|shoots| *shoots > 0) {
                return Ok(Release::StillUsed);
            }
            if let Claim::Won(_) = self.bindings.mark_dirty(&binding).await? {
                return Ok(Release::Done);
            }
        }
        Err(contended(name))
    }

    fn query(
        &self,
        instance: &InstanceRecord,
        plan: &CatalogPlan,
        eu_access: bool,
    ) -> Result<AccountQuery, String> {
        let platform_region = instance.platform_region.as_deref().unwrap_or_default();
        let rule = self.rules.best(plan, platform_region, &instance.region)?;
        let mut hyperscaler_type = plan.provider.as_str().to_owned();
        for (is_wanted, region) in
            [(rule.by_platform_region, platform_region), (rule.by_region, instance.region.as_str())]
        {
            if is_wanted {
                hyperscaler_type = format!("{hyperscaler_type}_{region}");
            }
        }
        Ok(AccountQuery {
            hyperscaler_type,
            eu_access: rule.eu_access || eu_access,
            shared: rule.shared,
            shoots_max: self.clusters_max,
        })
    }
}

fn is_dirty(binding: &CredentialsBinding) -> bool {
    binding.labels.get("dirty").is_some_and(|value| value == "true")
}

fn contended(name: &str) -> Halt {
    Halt::Retry {
        after: None,
        cause: format!("the cloud account {name} is changed by others all the time").into(),
    }
}
