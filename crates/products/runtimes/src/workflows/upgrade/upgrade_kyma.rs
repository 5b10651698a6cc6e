//! Has the back end install another version of Kyma, and waits for it.

use engine::prelude::*;
use serde_json::json;

use super::Upgrade;
use crate::backend::{ChangeKind, KymaChange, PreparedCall, SavedChange};
use crate::model::request::RequestInputs;
use crate::model::sent::SentOverrides;
use crate::workflows::shared::{ChangeFacts, OnceFacts, RemoteCall, RemoteChange};

pub(crate) struct UpgradeKyma;

#[async_trait]
impl RemoteCall<Upgrade> for UpgradeKyma {
    const NAME: &'static str = "upgrade_kyma";
    const TITLE: &'static str = "Upgrading Kyma";
    const KIND: ChangeKind = ChangeKind::Kyma;
    const FACTS: ChangeFacts = ChangeFacts {
        progress: "upgrade_kyma.remote",
        once: Some(OnceFacts { call: "upgrade_kyma.asked", request: "upgrade_kyma.request" }),
    };

    async fn ask(
        op: &mut Operation<Upgrade>,
        change: &RemoteChange<'_>,
        saved: SavedChange,
    ) -> Result<Option<SavedChange>, Halt> {
        let (parameters, overrides) = (op.input.parameters.clone(), op.input.overrides.take());
        op.remember(&SentOverrides::of(&overrides))?;
        let from = RequestInputs {
            runtimes: change.runtimes,
            plan: change.runtimes.plan(&change.instance.plan_id).map_err(Halt::fail)?,
            instance: change.instance,
            parameters: &parameters,
            cloud_account: "",
            token: "",
        };
        // The values of overrides may be of the tenant: SentOverrides says which of them may be shown.
        let shown = json!({"version": parameters.kyma_version, "components": parameters.components});
        let wanted = KymaChange { from, overrides };
        let prepared = change.backend.change_kyma(change.runtime, wanted, saved.clone())?;
        change.ask(op, &saved, PreparedCall { shown, ..prepared }).await.map(Some)
    }
}
