//! Finds the account of the cloud in which the cluster will run: the tenant's own, or a shared one.

use engine::prelude::*;

use super::Provision;
use crate::backend::BackendKind;
use crate::clients::Clients;
use crate::model::accounts::{AccountUser, Accounts};
use crate::model::bound_accounts::BoundAccounts;
use crate::model::instance::InstanceRecord;
use crate::model::settings::RuntimesSettings;

pub(crate) struct ResolveCredentials {
    accounts: Accounts,
    bound_accounts: Option<BoundAccounts>,
    runtimes: Arc<RuntimesSettings>,
}

impl ResolveCredentials {
    pub(crate) fn new(clients: &Clients) -> ResolveCredentials {
        ResolveCredentials {
            accounts: clients.accounts.clone(),
            bound_accounts: clients.bound_accounts.clone(),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    /// Accounts that are resources are for the back end that reads them.
    fn bound_accounts(&self, instance: &InstanceRecord) -> Option<&BoundAccounts> {
        let reads_them = instance.backend == Some(BackendKind::InfrastructureManager);
        self.bound_accounts.as_ref().filter(|_| reads_them)
    }

    async fn claim(&self, op: &Operation<Provision>) -> Result<Option<String>, Halt> {
        let instance = op.input.instance()?;
        let plan = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?;
        let named = op.input.parameters.target_secret.clone();
        if let Some(bound) = self.bound_accounts(instance) {
            return match named {
                Some(name) if bound.claim_named(&name, instance).await? => Ok(Some(name)),
                Some(_) => Err(Halt::fail(NOT_YOURS)),
                None => {
                    let eu_access = &self.runtimes.catalog.eu_access;
                    let eu_access = eu_access.restricts(instance.platform_region.as_deref());
                    bound.claim(instance, plan, eu_access).await
                }
            };
        }
        let resource = op.resource.as_deref().ok_or_else(|| Halt::fail("a cluster needs a resource"))?;
        let user = AccountUser { tenant: &instance.account, resource, provider: plan.provider };
        match named {
            Some(name) if self.accounts.claim_named(&name, user, op.now()).await? => Ok(Some(name)),
            Some(_) => Err(Halt::fail(NOT_YOURS)),
            None => self.accounts.claim(user, op.now()).await,
        }
    }
}

/// The same for an account that does not exist and for one of another tenant.
const NOT_YOURS: &str =
    "parameters.targetSecret: this tenant has no such cloud account; leave the parameter out";

#[async_trait]
impl Step<Provision> for ResolveCredentials {
    named!("resolve_credentials", "Choosing a cloud account");

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let instance = op.input.instance()?;
        // A record without the account was released since: another tenant may have it by now.
        if op.state.cloud_account.is_some() && op.state.cloud_account == instance.cloud_account {
            return done();
        }
        let provider = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?.provider;
        let Some(account) = self.claim(op).await? else {
            return retry(format!("all accounts for {} are taken; add one or free one", provider.as_str()));
        };
        let instance = op.input.change(|instance| instance.cloud_account = Some(account.clone()))?;
        op.set_record(&instance)?;
        if let Some(bound) = self.bound_accounts(&instance) {
            op.remember(&NamedAccount(account.clone()))?;
            op.save().await?;
            if !bound.is_still_ours(&account).await? {
                return retry(format!("the cloud account {account} was released meanwhile"));
            }
        }
        op.state.cloud_account = Some(account);
        done()
    }

    /// A dry run claims no account.
    async fn preview(&self, op: &mut Operation<Provision>) -> Result<(), Halt> {
        let instance = op.input.instance()?;
        let named = op.input.parameters.target_secret.clone();
        let foreseen = if self.bound_accounts(instance).is_some() {
            named
        } else {
            let provider = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?.provider;
            let user = AccountUser { tenant: &instance.account, resource: "", provider };
            if let Some(name) = &named
                && !self.accounts.may_claim(name, user).await?
            {
                return fail(NOT_YOURS).map(|_| ());
            }
            named.or_else(|| self.accounts.foresee(&instance.account, provider).map(str::to_owned))
        };
        op.state.cloud_account = Some(foreseen.unwrap_or_else(|| "<claimed from the accounts>".into()));
        Ok(())
    }
}

/// The account that the record names, saved before the account is looked at once more.
#[derive(Serialize, Deserialize)]
struct NamedAccount(String);

impl Fact for NamedAccount {
    const KEY: &'static str = "resolve_credentials.account";
}
