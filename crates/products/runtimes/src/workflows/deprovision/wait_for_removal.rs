//! Waits until the back end says that the runtime is gone.

use engine::Timestamp;
use engine::prelude::*;

use super::Deprovision;
use crate::backend::{Backends, ChangeKind, ChangeState, SavedChange};
use crate::clients::Clients;
use crate::workflows::shared::{PATIENT, pause};

pub(crate) struct WaitForRemoval {
    backends: Backends,
}

impl WaitForRemoval {
    pub(crate) fn new(clients: &Clients) -> WaitForRemoval {
        WaitForRemoval { backends: Backends::new(clients) }
    }
}

/// Since when the removal goes on.
#[derive(Serialize, Deserialize)]
struct Since(Timestamp);

impl Fact for Since {
    const KEY: &'static str = "wait_for_removal.since";
}

const OVER: Timestamp = Timestamp(0);

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
        let Some(operation) = op.state.provisioner_operation.clone().filter(|_| !op.state.is_removed) else {
            return done();
        };
        let now = op.now();
        let known = op.recall::<Since>()?.filter(|Since(at)| *at != OVER);
        let Since(since) = known.unwrap_or(Since(now));
        let instance = op.input.instance()?.clone();
        let backend = self.backends.of(&instance);
        let runtime = instance.runtime(op.need("the runtime", |state| state.runtime_id.as_ref())?);
        let mut saved = SavedChange::new(since).with_operation(operation);
        let state = backend.progress(runtime, ChangeKind::Remove, &mut saved, now).await?;
        match state {
            ChangeState::Done => {
                op.state.is_removed = true;
                done()
            }
            ChangeState::Failed(why) => {
                // An operator who starts the operation again gets the whole time again.
                op.remember(&Since(OVER))?;
                fail(why)
            }
            ChangeState::Pending(message) => {
                let look = backend.next_look(runtime, now.since(since));
                op.remember(&Since(since))?;
                pause(look, message)
            }
        }
    }
}
