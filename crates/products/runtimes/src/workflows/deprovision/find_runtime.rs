//! Takes from the provisioning what is needed: the runtime. Where the back end was asked for one and its answer was
//! lost, it is searched.

use engine::prelude::*;

use super::Deprovision;
use crate::backend::{Backends, Lookup};
use crate::clients::Clients;
use crate::model::settings::{RuntimesSettings, UnknownOutcome};

pub(crate) struct FindRuntime {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

/// A person looks at this only now and then.
const ASK_AGAIN: Duration = Duration::from_hours(1);

impl FindRuntime {
    pub(crate) fn new(clients: &Clients) -> FindRuntime {
        FindRuntime { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }

    fn cannot_tell(&self, op: &mut Operation<Deprovision>) -> Outcome {
        if self.runtimes.unknown_outcome == UnknownOutcome::CreateAgain {
            return done();
        }
        let key = format!("find_runtime:{}", op.id);
        let answer = op.signalled(&key).map(|answer| answer["runtime_id"].as_str().map(str::to_owned));
        if let Some(runtime_id) = answer {
            op.state.runtime_id = runtime_id;
            return done();
        }
        let signal = format!("provision-engine operations signal {key} --payload");
        let reason = format!(
            "the Provisioner was asked for a runtime and did not answer, and no Director is configured that knows \
             whether there is one; look there, then send the signal: `{signal} '{{\"runtime_id\": \"ID\"}}'` if there \
             is one, or `{signal} '{{}}'` if there is none"
        );
        wait_for(key, ASK_AGAIN, reason)
    }
}

#[async_trait]
impl Step<Deprovision> for FindRuntime {
    named!("find_runtime", "Finding the runtime");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("director")
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        if op.state.runtime_id.is_some() {
            return done();
        }
        let instance = op.input.instance()?;
        if let Some(runtime_id) = instance.runtime_id.clone() {
            op.state.runtime_id = Some(runtime_id);
            return done();
        }
        let Some(asked_at) = instance.asked_at else { return done() };
        match self.backends.of(instance).find_created(instance, None).await? {
            Lookup::Found(id) => {
                op.state.runtime_id = Some(id);
                return done();
            }
            Lookup::CannotTell => return self.cannot_tell(op),
            Lookup::CallAgain => return done(),
            Lookup::Absent => {}
        }
        let left = asked_at.plus(self.runtimes.settle).since(op.now());
        if left > Duration::ZERO {
            return wait(left, "the Provisioner did not answer; the Director may still register the runtime");
        }
        done()
    }
}
