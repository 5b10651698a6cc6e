//! Has the Provisioner install another version or other components of Kyma, and waits for it.

use engine::prelude::*;
use provisioner::{OperationType, Provisioner, UpgradeRuntimeInput};

use super::Update;
use super::compare::wanted;
use crate::clients::Clients;
use crate::model::request::{self, Ingredients};
use crate::model::sent::Sent;
use crate::model::settings::Runtimes;
use crate::workflows::shared::{Change, PATIENT, Progress};

pub(crate) struct UpgradeRuntime {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<Runtimes>,
}

impl UpgradeRuntime {
    pub(crate) fn new(clients: &Clients) -> UpgradeRuntime {
        UpgradeRuntime {
            provisioner: Arc::clone(&clients.provisioner),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }

    fn request(&self, op: &mut Operation<Update>) -> Result<UpgradeRuntimeInput, Halt> {
        let (parameters, overrides) = (wanted(op)?, op.input.overrides.take());
        op.remember(&Sent::of(&overrides))?;
        let instance = op.input.instance()?;
        let plan_id = op.params.plan_id.as_ref().unwrap_or(&instance.plan_id);
        let from = Ingredients {
            runtimes: &self.runtimes,
            plan: self.runtimes.plan(plan_id).map_err(Halt::fail)?,
            instance,
            parameters: &parameters,
            cloud_account: "",
            token: "",
        };
        Ok(UpgradeRuntimeInput { kyma_config: request::kyma(&from, overrides).request })
    }
}

#[async_trait]
impl Step<Update> for UpgradeRuntime {
    named!("upgrade_runtime", "Installing other parts of Kyma");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let instance = op.input.instance()?.clone();
        let Some(runtime_id) = &instance.runtime_id else { return fail("the instance has no runtime") };
        let change = Change {
            provisioner: &*self.provisioner,
            runtimes: &self.runtimes,
            caller: instance.caller(),
            runtime_id,
            key: "upgrade_runtime.asked",
            kind: OperationType::Upgrade,
        };
        let operation = match change.progress(op).await? {
            Progress::Over => return done(),
            Progress::UnderWay(operation) => operation,
            Progress::NotBegun => {
                let config = self.request(op)?;
                self.provisioner.upgrade_runtime(instance.caller(), runtime_id, &config).await?.id
            }
        };
        change.follow(op, operation).await
    }
}
