//! Makes what the instances need around them, in clouds that do not bring it: a group, a network and its rules.

use cloud::CloudError;
use engine::prelude::*;

use super::reach::reach;
use super::report::{healed, later, steady, stop};
use super::{instance_request, launch_instances, parts};
use crate::model::settings::Launches;
use crate::workflows::launch::Launch;

pub(crate) struct PrepareNetwork {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "prepare_network";
const CALL: &str = "prepare_network.called";

impl PrepareNetwork {
    pub(crate) fn new(launches: &Arc<Launches>) -> PrepareNetwork {
        PrepareNetwork { launches: Arc::clone(launches) }
    }
}

#[async_trait]
impl Step<Launch> for PrepareNetwork {
    named!(NAME, "Preparing the network");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(steady(&self.launches.settings))
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        let reservation = instance_request::reservation(&self.launches, op).await;
        let reservation = reservation.map_err(|error| stop(op, NAME, error))?;
        let request = instance_request::tagged(op, &reservation)?;
        let reach = reach(&self.launches, op).await.map_err(|error| stop(op, NAME, error))?;
        let cloud_account = reach.cloud_account();
        let call = reach.provider.prepare(&cloud_account, &request);
        // The way back looks as soon as one call was announced; only the first has to be.
        let answer = match op.calls(CALL)? {
            Some(calls) if calls.unknown_since.is_none() => call.await,
            _ => op.attempt(CALL).call(call, CloudError::may_have_happened).await?,
        };
        match answer {
            Ok(Some(after)) => wait(after, "the network is being made"),
            Ok(None) => done(),
            Err(error) => Err(stop(op, NAME, error)),
        }
    }

    /// Goes on until the cloud shows nothing of the launch.
    async fn undo(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.calls(CALL)?.is_none() {
            return done();
        }
        let settings = &self.launches.settings;
        let swept = match reach(&self.launches, op).await {
            Ok(reach) => parts::sweep(op, &reach).await.map(|left| (reach, left)),
            Err(error) => Err(error),
        };
        let (reach, left) = match swept {
            Ok(swept) => swept,
            Err(error) => {
                let leftovers = parts::leftovers(op, &[], &error);
                return Err(later(op, settings, NAME, &error, leftovers)?);
            }
        };
        if !left.is_empty() {
            return Err(parts::until_gone(op, settings, NAME, &left)?);
        }
        healed(op, NAME)?;
        // Where instances were asked for, their undo has waited.
        if op.calls(launch_instances::CALL)?.is_none() {
            parts::until_quiet(op, reach.settle(settings))?;
        }
        parts::cleared(op);
        done()
    }
}
