//! Has the back end upgrade Kubernetes and the nodes, and waits for it.

use engine::prelude::*;

use super::Upgrade;
use crate::backend::{ChangeKind, ClusterChange, SavedChange};
use crate::workflows::shared::{ChangeFacts, OnceFacts, RemoteCall, RemoteChange};

pub(crate) struct UpgradeCluster;

#[async_trait]
impl RemoteCall<Upgrade> for UpgradeCluster {
    const NAME: &'static str = "upgrade_cluster";
    const TITLE: &'static str = "Upgrading the cluster";
    const KIND: ChangeKind = ChangeKind::Cluster;
    const FACTS: ChangeFacts = ChangeFacts {
        progress: "upgrade_cluster.remote",
        once: Some(OnceFacts { call: "upgrade_cluster.asked", request: "upgrade_cluster.request" }),
    };

    async fn ask(
        op: &mut Operation<Upgrade>,
        change: &RemoteChange<'_>,
        saved: SavedChange,
    ) -> Result<Option<SavedChange>, Halt> {
        let instance = change.instance;
        let plan = change.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?.on(&instance.provider);
        // Nothing but versions changes: a machine that the plan chose stays what it is.
        let mut present = op.input.parameters.clone();
        present.machine_type = present.machine_type.or_else(|| Some(plan.defaults.machine.clone()));
        let versions = op.params.change.versions();
        let wanted = ClusterChange {
            plan: &plan,
            old_plan: &instance.plan_id,
            old: &present,
            new: &present,
            versions: Some(&versions),
            account: None,
        };
        let Some(prepared) = change.backend.change_cluster(change.runtime, wanted, saved.clone())? else {
            return Ok(None);
        };
        change.ask(op, &saved, prepared).await.map(Some)
    }
}
