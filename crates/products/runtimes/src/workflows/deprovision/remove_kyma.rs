//! Deletes the Kyma resource of the runtime, where the back end has one, and waits for its modules to clean up. They
//! need the cluster, so this comes before its removal; what does not end in time is listed and left.

use engine::Timestamp;
use engine::prelude::*;

use super::Deprovision;
use crate::backend::{Backends, KymaRemoval};
use crate::clients::Clients;
use crate::workflows::shared::{PATIENT, pause};

pub(crate) struct RemoveKyma {
    backends: Backends,
}

impl RemoveKyma {
    pub(crate) fn new(clients: &Clients) -> RemoveKyma {
        RemoveKyma { backends: Backends::new(clients) }
    }
}

/// How far it is.
#[derive(Serialize, Deserialize)]
struct Removal {
    since: Timestamp,
    #[serde(default)]
    is_over: bool,
    /// What was left when the time was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_behind: Vec<String>,
}

impl Fact for Removal {
    const KEY: &'static str = "remove_kyma.removal";
}

#[async_trait]
impl Step<Deprovision> for RemoveKyma {
    named!("remove_kyma", "Removing the Kyma resource");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let Some(runtime_id) = op.state.runtime_id.clone() else { return done() };
        let instance = op.input.instance()?.clone();
        let backend = self.backends.of(&instance);
        if !backend.has_kyma() {
            return done();
        }
        let now = op.now();
        let known = op.recall::<Removal>()?;
        let mut removal = known.unwrap_or(Removal { since: now, is_over: false, left_behind: Vec::new() });
        if removal.is_over {
            return done();
        }
        let runtime = instance.runtime(&runtime_id);
        let state = backend.remove_kyma(runtime, removal.since, now).await?;
        removal.is_over = !matches!(state, KymaRemoval::Pending(_));
        if let KymaRemoval::LeftBehind(leftovers) = &state {
            removal.left_behind.clone_from(leftovers);
        }
        op.remember(&removal)?;
        match state {
            KymaRemoval::Done | KymaRemoval::LeftBehind(_) => done(),
            KymaRemoval::Pending(reason) => {
                pause(backend.next_look(runtime, now.since(removal.since)), reason)
            }
        }
    }
}
