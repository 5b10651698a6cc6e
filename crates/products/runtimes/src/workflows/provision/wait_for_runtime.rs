//! Waits until the Provisioner says that the runtime is there.

use engine::prelude::*;
use provisioner::{OperationState, OperationStatus, Provisioner};

use super::Provision;
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::PATIENT;

pub(crate) struct WaitForRuntime {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<RuntimesSettings>,
}

impl WaitForRuntime {
    pub(crate) fn new(clients: &Clients) -> WaitForRuntime {
        WaitForRuntime {
            provisioner: Arc::clone(&clients.provisioner),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    /// The operation may be unknown where the runtime was found again; then the last one of the runtime is it.
    async fn status(&self, op: &Operation<Provision>) -> Result<OperationStatus, Halt> {
        let caller = op.input.instance()?.caller();
        if let Some(id) = &op.state.provisioner_operation {
            return Ok(self.provisioner.operation_status(caller, id).await?);
        }
        let runtime_id = op.need("the runtime", |state| state.runtime_id.as_ref())?;
        let status = self.provisioner.runtime_status(caller, runtime_id).await?;
        status.last_operation.ok_or_else(|| Halt::Retry {
            after: None,
            cause: "the Provisioner knows the runtime but no operation on it".into(),
        })
    }
}

#[async_trait]
impl Step<Provision> for WaitForRuntime {
    named!("wait_for_runtime", "Waiting for the runtime");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        if op.state.is_running {
            return done();
        }
        let status = self.status(op).await?;
        match status.state {
            OperationState::Succeeded => {
                op.state.is_running = true;
                done()
            }
            OperationState::Failed => Err(Halt::fail(crate::workflows::shared::why(&status))),
            OperationState::Pending | OperationState::InProgress => {
                let asked_at = op.input.instance()?.asked_at.unwrap_or(op.now());
                wait(
                    self.runtimes.pause(op.now().since(asked_at)),
                    crate::workflows::shared::progress(&status),
                )
            }
        }
    }

    /// In a dry run there is no runtime to wait for.
    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
