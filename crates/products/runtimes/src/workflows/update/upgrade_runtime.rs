//! Has the back end install another version or other components of Kyma, and waits for it.

use engine::prelude::*;

use super::Update;
use super::compare::{plan_id, wanted};
use crate::backend::{ChangeKind, KymaChange, SavedChange};
use crate::model::request::RequestInputs;
use crate::model::sent::SentOverrides;
use crate::workflows::shared::{ChangeFacts, RemoteCall, RemoteChange};

pub(crate) struct UpgradeRuntime;

#[async_trait]
impl RemoteCall<Update> for UpgradeRuntime {
    const NAME: &'static str = "upgrade_runtime";
    const TITLE: &'static str = "Upgrading Kyma components";
    const KIND: ChangeKind = ChangeKind::Kyma;
    const FACTS: ChangeFacts = ChangeFacts { progress: "upgrade_runtime.asked", once: None };

    async fn ask(
        op: &mut Operation<Update>,
        change: &RemoteChange<'_>,
        saved: SavedChange,
    ) -> Result<Option<SavedChange>, Halt> {
        let (parameters, overrides) = (wanted(op)?, op.input.overrides.take());
        op.remember(&SentOverrides::of(&overrides))?;
        let from = RequestInputs {
            runtimes: change.runtimes,
            plan: change.runtimes.plan(plan_id(op)?).map_err(Halt::fail)?,
            instance: change.instance,
            parameters: &parameters,
            cloud_account: "",
            token: "",
        };
        let wanted = KymaChange { from, overrides };
        let prepared = change.backend.change_kyma(change.runtime, wanted, saved.clone())?;
        change.ask(op, &saved, prepared).await.map(Some)
    }
}
