//! Gets the kubeconfig of the new cluster and keeps it sealed.

use engine::prelude::*;
use provisioner::Provisioner;

use super::Provision;
use crate::clients::Clients;
use crate::workflows::shared::PATIENT;

pub(crate) struct FetchKubeconfig {
    provisioner: Arc<dyn Provisioner>,
}

impl FetchKubeconfig {
    pub(crate) fn new(clients: &Clients) -> FetchKubeconfig {
        FetchKubeconfig { provisioner: Arc::clone(&clients.provisioner) }
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
        if instance.kubeconfig.is_some() {
            return done();
        }
        let runtime_id = op.need("the runtime", |state| state.runtime_id.as_ref())?;
        let status = self.provisioner.runtime_status(instance.caller(), runtime_id).await?;
        let Some(kubeconfig) = status.configuration.and_then(|configuration| configuration.kubeconfig) else {
            return retry("the Provisioner has no kubeconfig of the runtime yet");
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
