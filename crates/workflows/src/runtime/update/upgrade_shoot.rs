//! Has the Provisioner change the cluster, and waits for it. Asking for the same change twice is harmless.

use drivers::provisioner::{OperationType, Provisioner};
use engine::Timestamp;
use engine::prelude::*;

use super::Update;
use super::compare::wanted;
use crate::drivers::Drivers;
use crate::runtime::request;
use crate::runtime::settings::Runtimes;
use crate::runtime::shared::{Change, PATIENT, fail_with};

pub(super) struct UpgradeShoot {
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
    const KEY: &'static str = "upgrade_shoot.asked";
}

impl UpgradeShoot {
    pub(super) fn new(drivers: &Drivers) -> UpgradeShoot {
        UpgradeShoot {
            provisioner: Arc::clone(&drivers.provisioner),
            runtimes: Arc::clone(&drivers.runtimes),
        }
    }
}

#[async_trait]
impl Step<Update> for UpgradeShoot {
    fn name(&self) -> &'static str {
        "upgrade_shoot"
    }

    fn title(&self) -> &'static str {
        "Changing the cluster"
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
            None => change.under_way(|kind| *kind == OperationType::UpgradeShoot).await?,
        };
        let operation = if let Some(operation) = known {
            operation
        } else {
            let plan_id = op.params.plan_id.as_ref().unwrap_or(&instance.plan_id);
            let plan = self.runtimes.plan(plan_id).map_err(fail_with)?;
            let config = request::upgrade_shoot(plan, &op.input.parameters, &wanted(op)?);
            self.provisioner.upgrade_shoot(instance.caller(), runtime_id, &config).await?.id
        };
        op.remember(&Asked { operation: Some(operation.clone()), at: asked.at, is_over: false })?;
        let pause = self.runtimes.pause(op.now().since(asked.at));
        change.wait(&operation, pause).await?;
        op.remember(&Asked { operation: Some(operation), at: asked.at, is_over: true })?;
        done()
    }
}
