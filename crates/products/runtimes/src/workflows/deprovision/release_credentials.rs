//! Gives the account of the cloud back, when this was the last cluster in it.

use engine::prelude::*;

use super::Deprovision;
use crate::model::accounts::Accounts;

pub(crate) struct ReleaseCredentials {
    pub(crate) accounts: Accounts,
}

#[async_trait]
impl Step<Deprovision> for ReleaseCredentials {
    named!("release_credentials", "Releasing the cloud account");

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        // The record stops to name the account first: the cluster that leaves last finds no other one in it.
        let instance = op.input.change(|instance| instance.cloud_account = None)?;
        op.set_record(&instance)?;
        op.save().await?;
        let Some(resource) = &op.resource else { return done() };
        self.accounts.release(&instance.account, resource, op.now()).await?;
        done()
    }
}
