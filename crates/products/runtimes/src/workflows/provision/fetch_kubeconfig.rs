//! Gets the kubeconfig of the new cluster and keeps it sealed, where it may be kept.

use engine::prelude::*;

use super::Provision;
use crate::backend::{Backends, ClusterEntry};
use crate::clients::Clients;
use crate::workflows::shared::PATIENT;

pub(crate) struct FetchKubeconfig {
    backends: Backends,
}

impl FetchKubeconfig {
    pub(crate) fn new(clients: &Clients) -> FetchKubeconfig {
        FetchKubeconfig { backends: Backends::new(clients) }
    }
}

#[async_trait]
impl Step<Provision> for FetchKubeconfig {
    named!("fetch_kubeconfig", "Fetching the kubeconfig");

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
        let instance = op.input.instance()?;
        let backend = self.backends.of(instance);
        // Bindings and operators read it when they use it: it rotates.
        if instance.kubeconfig.is_some() || !backend.keeps_kubeconfig() {
            return done();
        }
        let runtime = instance.runtime(op.need("the runtime", |state| state.runtime_id.as_ref())?);
        let ClusterEntry::Open(kubeconfig) = backend.kubeconfig(runtime).await? else {
            return retry("the runtime is gone, and so is its kubeconfig");
        };
        let sealed = op.seal(&kubeconfig);
        let instance = op.input.change(|instance| instance.kubeconfig = Some(sealed))?;
        op.set_record(&instance)?;
        done()
    }

    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
