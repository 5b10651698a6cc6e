//! Has the back end change the cluster, and waits for it.

use engine::prelude::*;

use super::Update;
use super::compare::{moves_to, plan_id, wanted};
use crate::backend::{Backends, ChangeKind, ClusterChange};
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{ChangeProgress, PATIENT, PendingChange};

pub(crate) struct UpgradeShoot {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl UpgradeShoot {
    pub(crate) fn new(clients: &Clients) -> UpgradeShoot {
        UpgradeShoot { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
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
        let backend = self.backends.of(&instance);
        let runtime = instance.runtime(runtime_id);
        let (key, kind) = ("upgrade_shoot.asked", ChangeKind::Cluster);
        let pending = PendingChange { backend, runtime, key, kind };
        let saved = match pending.progress(op).await? {
            ChangeProgress::Over => return done(),
            ChangeProgress::UnderWay(saved) => saved,
            ChangeProgress::NotBegun(saved) => {
                let plan = &*self.runtimes.plan(plan_id(op)?).map_err(Halt::fail)?.on(&instance.provider);
                let (old, new) = (&op.input.parameters, &wanted(op)?);
                let (account, old_plan) = (moves_to(op)?, instance.plan_id.as_str());
                let account = account.as_deref();
                let change = ClusterChange { plan, old_plan, old, new, versions: None, account };
                match backend.change_cluster(runtime, change, saved)? {
                    Some(call) => call.send.await?,
                    None => return done(),
                }
            }
        };
        pending.follow(op, saved).await
    }
}
