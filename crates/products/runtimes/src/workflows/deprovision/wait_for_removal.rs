//! Waits until the Provisioner says that the runtime is gone.

use engine::Timestamp;
use engine::prelude::*;
use provisioner::{OperationState, Provisioner};

use super::Deprovision;
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{PATIENT, progress, why};

pub(crate) struct WaitForRemoval {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<RuntimesSettings>,
}

impl WaitForRemoval {
    pub(crate) fn new(clients: &Clients) -> WaitForRemoval {
        WaitForRemoval {
            provisioner: Arc::clone(&clients.provisioner),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }
}

/// Since when the removal goes on.
#[derive(Serialize, Deserialize)]
struct Since(Timestamp);

impl Fact for Since {
    const KEY: &'static str = "wait_for_removal.since";
}

#[async_trait]
impl Step<Deprovision> for WaitForRemoval {
    named!("wait_for_removal", "Waiting until the runtime is gone");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let Some(operation) = op.state.provisioner_operation.as_ref().filter(|_| !op.state.is_removed) else {
            return done();
        };
        let status = self.provisioner.operation_status(op.input.instance()?.caller(), operation).await?;
        match status.state {
            OperationState::Succeeded => {
                op.state.is_removed = true;
                done()
            }
            OperationState::Failed => Err(Halt::fail(why(&status))),
            OperationState::Pending | OperationState::InProgress => {
                let now = op.now();
                let Since(since) = op.recall::<Since>()?.unwrap_or(Since(now));
                op.remember(&Since(since))?;
                wait(self.runtimes.pause(now.since(since)), progress(&status))
            }
        }
    }
}
