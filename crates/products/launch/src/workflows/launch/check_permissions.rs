//! Asks the account whether it would let us launch, before a long build is spent on it.

use engine::prelude::*;

use super::instance_request;
use super::reach::reach;
use super::report::{brisk, stop};
use crate::model::settings::Launches;
use crate::workflows::launch::Launch;

pub(crate) struct CheckPermissions {
    launches: Arc<Launches>,
}

const NAME: &str = "check_permissions";

impl CheckPermissions {
    pub(crate) fn new(launches: &Arc<Launches>) -> CheckPermissions {
        CheckPermissions { launches: Arc::clone(launches) }
    }
}

#[async_trait]
impl Step<Launch> for CheckPermissions {
    named!(NAME, "Checking account permissions");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.launches.settings))
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        let instance_request = instance_request::without_image(op)?;
        let asked = async {
            let reach = reach(&self.launches, op).await?;
            reach.provider.identity(&reach.cloud_account()).await?;
            reach.provider.dry_run(&reach.cloud_account(), &instance_request).await
        };
        match asked.await {
            Ok(()) => done(),
            Err(error) => Err(stop(op, NAME, error)),
        }
    }
}
