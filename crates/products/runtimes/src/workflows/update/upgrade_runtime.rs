//! Has the Provisioner install another version or other components of Kyma, and waits for it.

use engine::prelude::*;
use provisioner::{OperationType, Provisioner, UpgradeRuntimeInput};

use super::Update;
use super::compare::wanted;
use crate::clients::Clients;
use crate::model::request::{self, RequestInputs};
use crate::model::sent::SentOverrides;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{ChangeProgress, PATIENT, PendingChange};

pub(crate) struct UpgradeRuntime {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<RuntimesSettings>,
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
        op.remember(&SentOverrides::of(&overrides))?;
        let instance = op.input.instance()?;
        let plan_id = op.params.plan_id.as_ref().unwrap_or(&instance.plan_id);
        let from = RequestInputs {
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
    named!("upgrade_runtime", "Upgrading Kyma components");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let instance = op.input.instance()?.clone();
        let Some(runtime_id) = &instance.runtime_id else { return fail("the instance has no runtime") };
        let change = PendingChange {
            provisioner: &*self.provisioner,
            runtimes: &self.runtimes,
            caller: instance.caller(),
            runtime_id,
            key: "upgrade_runtime.asked",
            kind: OperationType::Upgrade,
        };
        let operation = match change.progress(op).await? {
            ChangeProgress::Over => return done(),
            ChangeProgress::UnderWay(operation) => operation,
            ChangeProgress::NotBegun => {
                let config = self.request(op)?;
                self.provisioner.upgrade_runtime(instance.caller(), runtime_id, &config).await?.id
            }
        };
        change.follow(op, operation).await
    }
}
