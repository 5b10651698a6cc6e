//! Asks the Provisioner to remove the runtime. Asking twice is harmless: it refuses while the first is at work, and
//! its status tells which operation that is.

use director::Director;
use engine::prelude::*;
use http_client::DriverError;
use provisioner::{OperationState, OperationType, Provisioner, RuntimeStatus};

use super::Deprovision;
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{PATIENT, is_gone};

pub(crate) struct RemoveRuntime {
    provisioner: Arc<dyn Provisioner>,
    director: Option<Arc<dyn Director>>,
    runtimes: Arc<RuntimesSettings>,
}

impl RemoveRuntime {
    pub(crate) fn new(clients: &Clients) -> RemoveRuntime {
        RemoveRuntime {
            provisioner: Arc::clone(&clients.provisioner),
            director: clients.director.clone(),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }
}

const CALL: &str = "remove_runtime.asked";

/// What the Provisioner does to the runtime at this moment.
enum Busy {
    Removing(String),
    WithSomethingElse(String),
    No,
}

fn busy(status: &RuntimeStatus, has_asked: bool) -> Busy {
    let Some(last) = &status.last_operation else { return Busy::No };
    let removes = matches!(last.operation, OperationType::Deprovision | OperationType::DeprovisionNoInstall);
    let works = matches!(last.state, OperationState::Pending | OperationState::InProgress);
    match (removes, works) {
        (true, true) => Busy::Removing(last.id.clone()),
        // Ours, if we asked: the answer was lost, and it is over already.
        (true, false) if has_asked && last.state == OperationState::Succeeded => {
            Busy::Removing(last.id.clone())
        }
        (false, true) => Busy::WithSomethingElse(last.message.clone()),
        _ => Busy::No,
    }
}

#[async_trait]
impl Step<Deprovision> for RemoveRuntime {
    named!("remove_runtime", "Deprovisioning the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let Some(runtime_id) = op.state.runtime_id.clone() else { return done() };
        if op.state.provisioner_operation.is_some() || op.state.is_removed {
            return done();
        }
        let instance = op.input.instance()?.clone();
        let has_asked = op.calls(CALL)?.is_some();
        let status = match self.provisioner.runtime_status(instance.caller(), &runtime_id).await {
            Ok(status) => status,
            Err(DriverError::Broken { .. } | DriverError::Refused { .. })
                if is_gone(self.director.as_deref(), &instance.account, &runtime_id).await? =>
            {
                op.state.is_removed = true;
                return done();
            }
            Err(error) => return Err(error.into()),
        };
        match busy(&status, has_asked) {
            Busy::Removing(operation) => {
                op.state.provisioner_operation = Some(operation);
                return done();
            }
            Busy::WithSomethingElse(message) => {
                let reason = format!("the Provisioner is still at work on the runtime: {message}");
                return wait(self.runtimes.poll_max, reason);
            }
            Busy::No => {}
        }
        let call = self.provisioner.deprovision_runtime(instance.caller(), &runtime_id);
        match op.attempt(CALL).call(call, |error| !error.is_final()).await? {
            Ok(operation) => {
                op.state.provisioner_operation = Some(operation);
                done()
            }
            // Between our look and our call another operation began.
            Err(error @ DriverError::Refused { .. }) => {
                let status = self.provisioner.runtime_status(instance.caller(), &runtime_id).await?;
                match busy(&status, true) {
                    Busy::No => Err(error.into()),
                    _ => retry(error.to_string()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }
}
