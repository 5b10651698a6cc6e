//! Terminates the machines that outlived their service.

use engine::prelude::*;

use super::{Delete, failed, going_on_for, whose};
use crate::serverless::errand::credentials;
use crate::serverless::removal::{Progress, Removal};
use crate::serverless::report::{OPENNEBULA, PATIENT, stop};
use crate::serverless::settings::Serverless;

pub(super) struct TerminateMachines {
    serverless: Arc<Serverless>,
}

impl TerminateMachines {
    pub(super) fn new(serverless: &Arc<Serverless>) -> TerminateMachines {
        TerminateMachines { serverless: Arc::clone(serverless) }
    }
}

/// From then on a machine gets no time to shut down.
#[derive(Serialize, Deserialize)]
struct Asked(bool);

impl Fact for Asked {
    const KEY: &'static str = "terminate_machines.asked";
}

#[async_trait]
impl Step<Delete> for TerminateMachines {
    fn name(&self) -> &'static str {
        "terminate_machines"
    }

    fn title(&self) -> &'static str {
        "Terminating machines that are left"
    }

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let urgent = op.recall::<Asked>()?.is_some();
        match removal.terminate(&op.state.machines, urgent).await {
            Ok(Progress::Gone) => done(),
            Ok(Progress::Waits(reason)) => {
                op.remember(&Asked(true))?;
                wait(self.serverless.settings.pause(going_on_for(op)), reason)
            }
            Err(error) => {
                let text = failed(op);
                Err(stop(op, &text, error))
            }
        }
    }
}
