//! Finds the account of the cloud in which the cluster will run: the tenant's own, or a shared one.

use engine::prelude::*;

use super::Provision;
use crate::clients::Clients;
use crate::model::accounts::{AccountUser, Accounts};
use crate::model::settings::RuntimesSettings;

pub(crate) struct ResolveCredentials {
    accounts: Accounts,
    runtimes: Arc<RuntimesSettings>,
}

impl ResolveCredentials {
    pub(crate) fn new(clients: &Clients) -> ResolveCredentials {
        ResolveCredentials { accounts: clients.accounts.clone(), runtimes: Arc::clone(&clients.runtimes) }
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
        let resource = op.resource.as_deref().ok_or_else(|| Halt::fail("a cluster needs a resource"))?;
        let user = AccountUser { tenant: &instance.account, resource, provider };
        let account = match op.input.parameters.target_secret.clone() {
            Some(name) if self.accounts.claim_named(&name, user, op.now()).await? => Some(name),
            Some(_) => return fail(NOT_YOURS),
            None => self.accounts.claim(user, op.now()).await?,
        };
        let Some(account) = account else {
            return retry(format!("all accounts for {} are taken; add one or free one", provider.as_str()));
        };
        op.state.cloud_account = Some(account.clone());
        let instance = op.input.change(|instance| instance.cloud_account = Some(account))?;
        op.set_record(&instance)?;
        done()
    }

    /// A dry run claims no account.
    async fn preview(&self, op: &mut Operation<Provision>) -> Result<(), Halt> {
        let instance = op.input.instance()?;
        let provider = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?.provider;
        let user = AccountUser { tenant: &instance.account, resource: "", provider };
        let named = op.input.parameters.target_secret.clone();
        if let Some(name) = &named
            && !self.accounts.may_claim(name, user).await?
        {
            return fail(NOT_YOURS).map(|_| ());
        }
        let named = named.or_else(|| self.accounts.foresee(&instance.account, provider).map(str::to_owned));
        op.state.cloud_account = Some(named.unwrap_or_else(|| "<claimed from the accounts>".into()));
        Ok(())
    }
}
