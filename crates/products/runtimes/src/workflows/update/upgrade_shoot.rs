//! Has the Provisioner change the cluster, and waits for it.

use engine::prelude::*;
use provisioner::{OperationType, Provisioner};

use super::Update;
use super::compare::wanted;
use crate::clients::Clients;
use crate::model::request;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{ChangeProgress, PATIENT, PendingChange};

pub(crate) struct UpgradeShoot {
    provisioner: Arc<dyn Provisioner>,
    runtimes: Arc<RuntimesSettings>,
}

impl UpgradeShoot {
    pub(crate) fn new(clients: &Clients) -> UpgradeShoot {
        UpgradeShoot {
            provisioner: Arc::clone(&clients.provisioner),
            runtimes: Arc::clone(&clients.runtimes),
        }
    }
}

#[async_trait]
impl Step<Update> for UpgradeShoot {
    named!("upgrade_shoot", "Changing the cluster");

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
            key: "upgrade_shoot.asked",
            kind: OperationType::UpgradeShoot,
        };
        let operation = match change.progress(op).await? {
            ChangeProgress::Over => return done(),
            ChangeProgress::UnderWay(operation) => operation,
            ChangeProgress::NotBegun => {
                let plan_id = op.params.plan_id.as_ref().unwrap_or(&instance.plan_id);
                let plan = self.runtimes.plan(plan_id).map_err(Halt::fail)?;
                let config = request::upgrade_shoot(plan, &op.input.parameters, &wanted(op)?);
                self.provisioner.upgrade_shoot(instance.caller(), runtime_id, &config).await?.id
            }
        };
        change.follow(op, operation).await
    }
}
