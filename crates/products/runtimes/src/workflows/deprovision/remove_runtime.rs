//! Asks the back end to remove the runtime. Asking twice is harmless: a look at what the back end does comes first, and
//! tells whether that is the removal.

use engine::prelude::*;
use http_client::DriverError;

use super::Deprovision;
use crate::backend::{Activity, Backends, ChangeKind, SavedChange};
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::PATIENT;

pub(crate) struct RemoveRuntime {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl RemoveRuntime {
    pub(crate) fn new(clients: &Clients) -> RemoveRuntime {
        RemoveRuntime { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }
}

const CALL: &str = "remove_runtime.asked";

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
        let (backend, runtime) = (self.backends.of(&instance), instance.runtime(&runtime_id));
        let has_asked = op.calls(CALL)?.is_some();
        let mut saved = SavedChange::new(op.now());
        match backend.activity(runtime, ChangeKind::Remove, has_asked, &mut saved).await? {
            Activity::Gone => {
                op.state.is_removed = true;
                return done();
            }
            Activity::UnderWay(operation) => {
                op.state.provisioner_operation = Some(operation);
                return done();
            }
            Activity::Other(message) => {
                let reason = format!("{} is still at work on the runtime: {message}", backend.title());
                return wait(self.runtimes.poll_max, reason);
            }
            Activity::Idle => {}
        }
        let call = backend.remove(runtime);
        match op.attempt(CALL).call(call, |error| !error.is_final()).await? {
            Ok(operation) => {
                op.state.provisioner_operation = Some(operation.unwrap_or_default());
                done()
            }
            // Between our look and our call another operation began.
            Err(error @ DriverError::Refused { .. }) => {
                match backend.activity(runtime, ChangeKind::Remove, true, &mut saved).await? {
                    Activity::Idle => Err(error.into()),
                    _ => retry(error.to_string()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }
}
