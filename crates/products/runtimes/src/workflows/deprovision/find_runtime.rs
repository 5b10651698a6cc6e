//! Takes from the provisioning what is needed: the runtime. Where the Provisioner was asked for one and its answer
//! was lost, the Director knows.

use director::Director;
use engine::prelude::*;

use super::Deprovision;
use crate::clients::Clients;
use crate::model::request::INSTANCE_LABEL;
use crate::model::settings::{RuntimesSettings, UnknownOutcome};

pub(crate) struct FindRuntime {
    director: Option<Arc<dyn Director>>,
    runtimes: Arc<RuntimesSettings>,
}

/// A person looks at this only now and then.
const ASK_AGAIN: Duration = Duration::from_hours(1);

impl FindRuntime {
    pub(crate) fn new(clients: &Clients) -> FindRuntime {
        FindRuntime { director: clients.director.clone(), runtimes: Arc::clone(&clients.runtimes) }
    }

    fn without_director(&self, op: &mut Operation<Deprovision>) -> Outcome {
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
        let Some(director) = &self.director else { return self.without_director(op) };
        let known =
            director.runtimes_by_label(&instance.account, INSTANCE_LABEL, &instance.instance_id).await?;
        let found = known.into_iter().find(|one| !instance.former_runtimes.contains(&one.id));
        if let Some(found) = found {
            op.state.runtime_id = Some(found.id);
            return done();
        }
        let left = asked_at.plus(self.runtimes.settle).since(op.now());
        if left > Duration::ZERO {
            return wait(left, "the Provisioner did not answer; its Director may still hear of the runtime");
        }
        done()
    }
}
