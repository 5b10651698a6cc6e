//! Lets itself into the account, and tries what a launch would need, without leaving anything.

use cloud::{Category, Permissions};
use engine::prelude::*;

use super::CheckSource;
use crate::model::Launches;
use crate::model::source_access;
use crate::model::sources::Finding;

pub(crate) struct LookAtSource {
    launches: Arc<Launches>,
}

/// Who asked wants to know soon; the next check comes by itself.
const RETRIES: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_secs(15),
    budget: Duration::from_mins(2),
};

impl LookAtSource {
    pub(crate) fn new(launches: &Arc<Launches>) -> LookAtSource {
        LookAtSource { launches: Arc::clone(launches) }
    }

    /// Why the source cannot be used; nothing when it can.
    async fn obstacle(&self, op: &mut Operation<CheckSource>) -> Result<Option<String>, Halt> {
        let (who, id) = (&op.params.owner, &op.params.source_id);
        let Some(link) = self.launches.accounts.link(who, id).await? else {
            return Ok(Some("there is no such source".into()));
        };
        let Some(reached) = source_access::enter(&self.launches, who, link.account) else {
            return Ok(Some("this server is not connected to its cloud".into()));
        };
        op.state.application = link.application;
        let cloud_account = reached.cloud_account(reached.account.provider.spec().home);
        match reached.provider.identity(&cloud_account).await {
            Err(error) if error.is(Category::Permission) => {
                return Ok(Some(format!("could not log in: {error}")));
            }
            answer => answer?,
        };
        let found = reached.provider.permissions(&cloud_account).await?;
        Ok(missing(&found))
    }
}

fn missing(found: &Permissions) -> Option<String> {
    (!found.is_valid()).then(|| format!("these permissions are missing: {}", found.missing.join(", ")))
}

#[async_trait]
impl Step<CheckSource> for LookAtSource {
    named!("look_at_source", "Checking the source");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(RETRIES)
    }

    async fn run(&self, op: &mut Operation<CheckSource>) -> Outcome {
        if op.state.finding.is_none() {
            let obstacle = self.obstacle(op).await?;
            let at = op.now();
            op.state.finding = Some(Finding { is_available: obstacle.is_none(), reason: obstacle, at });
        }
        if let Some(finding) = &op.state.finding {
            let (who, id) = (&op.params.owner, &op.params.source_id);
            self.launches.accounts.learn(who, id, finding).await?;
        }
        done()
    }
}
