//! Has the back end upgrade Kubernetes and the nodes, and waits for it.

use engine::prelude::*;

use super::Upgrade;
use super::remote::RemoteUpgrade;
use crate::backend::{Backends, ChangeKind, ClusterChange};
use crate::clients::Clients;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::PATIENT;

pub(crate) struct UpgradeCluster {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl UpgradeCluster {
    pub(crate) fn new(clients: &Clients) -> UpgradeCluster {
        UpgradeCluster { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }
}

#[async_trait]
impl Step<Upgrade> for UpgradeCluster {
    named!("upgrade_cluster", "Upgrading the cluster");

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Upgrade>) -> Outcome {
        let instance = op.input.instance()?.clone();
        let Some(runtime_id) = &instance.runtime_id else { return fail("the instance has no runtime") };
        let backend = self.backends.of(&instance);
        let runtime = instance.runtime(runtime_id);
        let remote = RemoteUpgrade {
            backend,
            runtime,
            kind: ChangeKind::Cluster,
            settle: self.runtimes.settle,
            call: "upgrade_cluster.asked",
            key: "upgrade_cluster.remote",
            shown: "upgrade_cluster.request",
        };
        let plan = self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?.on(&instance.provider);
        // Nothing but versions changes: a machine that the plan chose stays what it is.
        let mut present = op.input.parameters.clone();
        present.machine_type = present.machine_type.or_else(|| Some(plan.defaults.machine.clone()));
        let versions = op.params.change.versions();
        let change = ClusterChange {
            plan: &plan,
            old_plan: &instance.plan_id,
            old: &present,
            new: &present,
            versions: Some(&versions),
            account: None,
        };
        remote.carry_out(op, |saved| backend.change_cluster(runtime, change, saved)).await
    }
}
