//! Has the Provisioner install another version or other components of Kyma, and waits for it.

use drivers::provisioner::{OperationType, Provisioner, UpgradeRuntimeInput};
use engine::Timestamp;
use engine::prelude::*;

use super::Update;
use super::compare::wanted;
use crate::drivers::Drivers;
use crate::runtime::request::{self, Ingredients};
use crate::runtime::settings::Runtimes;
use crate::runtime::shared::{Change, PATIENT, fail_with};

pub(super) struct UpgradeRuntime {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<Runtimes>,
}

/// The operation at the Provisioner, and since when it goes on.
#[derive(Serialize, Deserialize)]
struct Asked {
    operation: Option<String>,
    at: Timestamp,
    #[serde(default)]
    is_over: bool,
}

impl Fact for Asked {
    const KEY: &'static str = "upgrade_runtime.asked";
}

impl UpgradeRuntime {
    pub(super) fn new(drivers: &Drivers) -> UpgradeRuntime {
        UpgradeRuntime {
            provisioner: Arc::clone(&drivers.provisioner),
            runtimes: Arc::clone(&drivers.runtimes),
        }
    }

    fn request(&self, op: &mut Operation<Update>) -> Result<UpgradeRuntimeInput, Halt> {
        let (parameters, overrides) = (wanted(op)?, op.input.overrides.take());
        let instance = op.input.instance()?;
        let plan_id = op.params.plan_id.as_ref().unwrap_or(&instance.plan_id);
        let from = Ingredients {
            runtimes: &self.runtimes,
            plan: self.runtimes.plan(plan_id).map_err(fail_with)?,
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
    fn name(&self) -> &'static str {
        "upgrade_runtime"
    }

    fn title(&self) -> &'static str {
        "Installing other parts of Kyma"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let instance = op.input.instance()?.clone();
        let Some(runtime_id) = &instance.runtime_id else { return fail("the instance has no runtime") };
        let mut asked =
            op.recall::<Asked>()?.unwrap_or(Asked { operation: None, at: op.now(), is_over: false });
        if asked.is_over {
            return done();
        }
        let change = Change { provisioner: &*self.provisioner, caller: instance.caller(), runtime_id };
        let known = match asked.operation.take() {
            Some(operation) => Some(operation),
            None => change.under_way(|kind| *kind == OperationType::Upgrade).await?,
        };
        let operation = if let Some(operation) = known {
            operation
        } else {
            let config = self.request(op)?;
            self.provisioner.upgrade_runtime(instance.caller(), runtime_id, &config).await?.id
        };
        op.remember(&Asked { operation: Some(operation.clone()), at: asked.at, is_over: false })?;
        let pause = self.runtimes.pause(op.now().since(asked.at));
        change.wait(&operation, pause).await?;
        op.remember(&Asked { operation: Some(operation), at: asked.at, is_over: true })?;
        done()
    }
}
