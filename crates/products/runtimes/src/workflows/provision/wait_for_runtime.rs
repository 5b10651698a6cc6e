//! Waits until the back end says that the runtime is there.

use engine::prelude::*;

use super::Provision;
use crate::backend::{Backends, ChangeKind, ChangeState, SavedChange};
use crate::clients::Clients;
use crate::workflows::shared::{PATIENT, pause};

pub(crate) struct WaitForRuntime {
    backends: Backends,
}

impl WaitForRuntime {
    pub(crate) fn new(clients: &Clients) -> WaitForRuntime {
        WaitForRuntime { backends: Backends::new(clients) }
    }
}

/// The creation that is waited for, once it has failed: an operator may start the operation again.
const SAVED: &str = "wait_for_runtime.saved";

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
        let (now, instance) = (op.now(), op.input.instance()?.clone());
        let backend = self.backends.of(&instance);
        let runtime_id = op.need("the runtime", |state| state.runtime_id.as_ref())?.clone();
        let runtime = instance.runtime(&runtime_id);
        let operation = op.state.provisioner_operation.clone().unwrap_or_default();
        let begun = SavedChange::new(instance.asked_at.unwrap_or(now)).with_operation(operation);
        let known = op.recall_as::<SavedChange>(SAVED)?;
        let mut saved = known.clone().unwrap_or_else(|| begun.clone());
        if saved.has_failed {
            saved = begun;
            saved.at = now;
            backend.try_again(runtime, &mut saved).await?;
        }
        let state = backend.progress(runtime, ChangeKind::Create, &mut saved, now).await?;
        if matches!(state, ChangeState::Failed(_)) {
            saved.fail();
        }
        if known.is_some() || saved.has_failed {
            op.remember_as(SAVED, &saved)?;
        }
        match state {
            ChangeState::Done => {
                op.state.is_running = true;
                done()
            }
            ChangeState::Failed(why) => fail(why),
            ChangeState::Pending(message) => pause(backend.next_look(runtime, now.since(saved.at)), message),
        }
    }

    /// In a dry run there is no runtime to wait for.
    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
