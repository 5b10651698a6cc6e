//! Gives the account of the cloud back, when this was the last cluster in it.

use engine::prelude::*;

use super::Deprovision;
use crate::runtime::accounts::Accounts;

pub(super) struct ReleaseCredentials {
    pub(super) accounts: Accounts,
}

#[async_trait]
impl Step<Deprovision> for ReleaseCredentials {
    fn name(&self) -> &'static str {
        "release_credentials"
    }

    fn title(&self) -> &'static str {
        "Giving back the account of the cloud"
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let instance = op.input.instance()?;
        let (Some(account), Some(resource)) = (&instance.cloud_account, &op.resource) else { return done() };
        self.accounts.release(account, resource, op.now()).await?;
        done()
    }
}
