//! Finds the account of the cloud in which the cluster will run: the tenant's own, or a shared one.

use engine::prelude::*;

use super::Provision;
use crate::drivers::Drivers;
use crate::runtime::accounts::Accounts;
use crate::runtime::settings::Runtimes;
use crate::runtime::shared::fail_with;

pub(super) struct ResolveCredentials {
    accounts: Accounts,
    runtimes: Arc<Runtimes>,
}

impl ResolveCredentials {
    pub(super) fn new(drivers: &Drivers) -> ResolveCredentials {
        ResolveCredentials { accounts: drivers.accounts.clone(), runtimes: Arc::clone(&drivers.runtimes) }
    }
}

#[async_trait]
impl Step<Provision> for ResolveCredentials {
    fn name(&self) -> &'static str {
        "resolve_credentials"
    }

    fn title(&self) -> &'static str {
        "Finding an account of the cloud"
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        if op.state.cloud_account.is_some() {
            return done();
        }
        let instance = op.input.instance()?;
        let provider = self.runtimes.plan(&instance.plan_id).map_err(fail_with)?.provider;
        let named = op.input.parameters.target_secret.clone();
        let account = match named {
            Some(name) => Some(name),
            None => self.accounts.claim(&instance.account, provider, op.now()).await?,
        };
        let Some(account) = account else {
            return retry(format!("all accounts for {} are taken; add one or free one", provider.as_str()));
        };
        op.state.cloud_account = Some(account.clone());
        let instance = op.input.change(|instance| instance.cloud_account = Some(account))?;
        op.portray(&instance)?;
        done()
    }

    /// A dry run takes nobody's account.
    async fn preview(&self, op: &mut Operation<Provision>) -> Result<(), Halt> {
        let instance = op.input.instance()?;
        let provider = self.runtimes.plan(&instance.plan_id).map_err(fail_with)?.provider;
        let foreseen = || self.accounts.foresee(&instance.account, provider).map(str::to_owned);
        let named = op.input.parameters.target_secret.clone().or_else(foreseen);
        op.state.cloud_account = Some(named.unwrap_or_else(|| "<claimed from the accounts>".into()));
        Ok(())
    }
}
