//! Gives the account of the cloud back, when this was the last cluster in it.

use engine::Timestamp;
use engine::prelude::*;

use super::Deprovision;
use crate::backend::BackendKind;
use crate::clients::Clients;
use crate::model::accounts::Accounts;
use crate::model::bound_accounts::{BoundAccounts, Release};

pub(crate) struct ReleaseCredentials {
    accounts: Accounts,
    bound_accounts: Option<BoundAccounts>,
}

impl ReleaseCredentials {
    pub(crate) fn new(clients: &Clients) -> ReleaseCredentials {
        ReleaseCredentials {
            accounts: clients.accounts.clone(),
            bound_accounts: clients.bound_accounts.clone(),
        }
    }
}

/// The account that the record named, and since when its release goes on.
#[derive(Serialize, Deserialize)]
struct ReleasedAccount {
    account: String,
    since: Timestamp,
}

impl Fact for ReleasedAccount {
    const KEY: &'static str = "release_credentials.account";
}

/// How long to wait until the shoot of a runtime that is gone does not count any more.
const STILL_USED_LIMIT: Duration = Duration::from_hours(1);
const LOOK_AGAIN: Duration = Duration::from_secs(10);

#[async_trait]
impl Step<Deprovision> for ReleaseCredentials {
    named!("release_credentials", "Releasing the cloud account");

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let now = op.now();
        let instance = op.input.instance()?;
        let is_bound = instance.backend == Some(BackendKind::InfrastructureManager);
        let bound = self.bound_accounts.as_ref().filter(|_| is_bound);
        if let Some(account) = instance.cloud_account.clone().filter(|_| bound.is_some()) {
            op.remember(&ReleasedAccount { account, since: now })?;
        }
        // The record stops to name the account first: the cluster that leaves last finds no other one in it.
        let instance = op.input.change(|instance| instance.cloud_account = None)?;
        op.set_record(&instance)?;
        op.save().await?;
        let Some(resource) = &op.resource else { return done() };
        self.accounts.release(&instance.account, resource, op.now()).await?;
        let Some((bound, released)) = bound.zip(op.recall::<ReleasedAccount>()?) else { return done() };
        match bound.release(&released.account).await? {
            Release::StillUsed if !op.params.force && now.since(released.since) < STILL_USED_LIMIT => {
                wait(LOOK_AGAIN, format!("a cluster still uses the cloud account {}", released.account))
            }
            // After that time it is left to those who clean up accounts.
            Release::StillUsed | Release::Done => done(),
        }
    }
}
