//! Has the back end change the cluster, and waits for it.

use engine::prelude::*;

use super::Update;
use super::compare::{moves_to, plan_id, wanted};
use crate::backend::{ChangeKind, ClusterChange, SavedChange};
use crate::workflows::shared::{ChangeFacts, RemoteCall, RemoteChange};

pub(crate) struct UpgradeShoot;

#[async_trait]
impl RemoteCall<Update> for UpgradeShoot {
    const NAME: &'static str = "upgrade_shoot";
    const TITLE: &'static str = "Changing the cluster";
    const KIND: ChangeKind = ChangeKind::Cluster;
    const FACTS: ChangeFacts = ChangeFacts { progress: "upgrade_shoot.asked", once: None };

    async fn ask(
        op: &mut Operation<Update>,
        change: &RemoteChange<'_>,
        saved: SavedChange,
    ) -> Result<Option<SavedChange>, Halt> {
        let instance = change.instance;
        let plan = &*change.runtimes.plan(plan_id(op)?).map_err(Halt::fail)?.on(&instance.provider);
        let (old, new) = (&op.input.parameters.clone(), &wanted(op)?);
        let (account, old_plan) = (moves_to(op)?, instance.plan_id.as_str());
        let account = account.as_deref();
        let wanted = ClusterChange { plan, old_plan, old, new, versions: None, account };
        let Some(prepared) = change.backend.change_cluster(change.runtime, wanted, saved.clone())? else {
            return Ok(None);
        };
        change.ask(op, &saved, prepared).await.map(Some)
    }
}
