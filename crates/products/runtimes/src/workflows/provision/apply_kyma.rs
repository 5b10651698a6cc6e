//! Writes the Kyma resource of the runtime, where the back end has one.

use engine::prelude::*;

use super::Provision;
use crate::backend::Backends;
use crate::clients::Clients;
use crate::workflows::shared::PATIENT;

pub(crate) struct ApplyKyma {
    backends: Backends,
}

impl ApplyKyma {
    pub(crate) fn new(clients: &Clients) -> ApplyKyma {
        ApplyKyma { backends: Backends::new(clients) }
    }
}

/// It is written once: what others change in it later stays.
#[derive(Serialize, Deserialize)]
struct Applied(bool);

impl Fact for Applied {
    const KEY: &'static str = "apply_kyma.applied";
}

#[async_trait]
impl Step<Provision> for ApplyKyma {
    named!("apply_kyma", "Writing the Kyma resource");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let instance = op.input.instance()?;
        let backend = self.backends.of(instance);
        if !backend.has_kyma() || op.recall::<Applied>()?.is_some() {
            return done();
        }
        let runtime = instance.runtime(op.need("the runtime", |state| state.runtime_id.as_ref())?);
        backend.apply_kyma(instance, &op.input.parameters, runtime).await?;
        op.remember(&Applied(true))?;
        done()
    }
}
