//! Has the cloud end the instance, and looks until it is gone. To ask twice does no harm, so a call whose answer was lost
//! is made again.

use cloud::{CloudAccount, CloudInstance, InstanceState, Provider};
use engine::Timestamp;
use engine::prelude::*;

use super::Terminate;
use crate::model::settings::{LaunchSettings, Launches};

pub(crate) struct TerminateInstance {
    launches: Arc<Launches>,
}

/// Since when the cloud does not know the instance.
#[derive(Serialize, Deserialize)]
struct MissingSince(Timestamp);

impl Fact for MissingSince {
    const KEY: &'static str = "terminate_instance.missing_since";
}

impl TerminateInstance {
    pub(crate) fn new(launches: &Arc<Launches>) -> TerminateInstance {
        TerminateInstance { launches: Arc::clone(launches) }
    }

    /// A cloud may not show yet what was just made, and forgets what has been gone for a while.
    fn is_forgotten(&self, op: &mut Operation<Terminate>, provider: &dyn Provider) -> Result<bool, Halt> {
        let now = op.now();
        let since = op.recall::<MissingSince>()?.map_or(now, |MissingSince(since)| since);
        op.remember(&MissingSince(since))?;
        let settle = provider.settle().unwrap_or(self.launches.settings.settle);
        Ok(now.since(since) >= settle)
    }
}

#[async_trait]
impl Step<Terminate> for TerminateInstance {
    named!("terminate_instance", "Terminating the instance");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        let LaunchSettings { retry_first: first, undo_patience: budget, .. } = self.launches.settings;
        Some(RetryPolicy { first, max: first * 30, budget })
    }

    async fn run(&self, op: &mut Operation<Terminate>) -> Outcome {
        if op.state.gone.is_some() {
            return done();
        }
        let params = op.params.clone();
        let Some(provider) = self.launches.providers.get(&params.provider) else {
            return fail(format!("{} is not configured here; configure it, then ask again", params.provider));
        };
        let source = &params.source_id;
        let Some(account) = self.launches.accounts.get(&params.owner, source).await? else {
            return fail(format!(
                "source {source} does not exist any longer; create it again, or terminate the instance in the cloud"
            ));
        };
        let session = op.id.to_string();
        let cloud_account = CloudAccount { account: &account, region: &params.region, session: &session };
        let ids = [params.instance_id];
        let seen = provider.describe(&cloud_account, &ids).await?.into_iter().find(|seen| seen.id == ids[0]);
        match seen {
            Some(seen) if seen.state == InstanceState::Terminated => {
                op.state.gone = Some(seen);
                return done();
            }
            None if self.is_forgotten(op, &**provider)? => {
                op.state.gone = Some(CloudInstance::forgotten(&ids[0]));
                return done();
            }
            Some(seen) if seen.state == InstanceState::ShuttingDown => {}
            _ => provider.delete(&cloud_account, &ids).await?,
        }
        wait(self.launches.settings.instance_poll, "the instance is being terminated")
    }
}
