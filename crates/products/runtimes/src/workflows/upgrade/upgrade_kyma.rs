//! Has the back end install another version of Kyma, and waits for it.

use engine::prelude::*;
use serde_json::json;

use super::Upgrade;
use super::remote::RemoteUpgrade;
use crate::backend::{Backends, ChangeKind, KymaChange, PreparedCall};
use crate::clients::Clients;
use crate::model::request::RequestInputs;
use crate::model::sent::SentOverrides;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::PATIENT;

pub(crate) struct UpgradeKyma {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl UpgradeKyma {
    pub(crate) fn new(clients: &Clients) -> UpgradeKyma {
        UpgradeKyma { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }
}

#[async_trait]
impl Step<Upgrade> for UpgradeKyma {
    named!("upgrade_kyma", "Upgrading Kyma");

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
            kind: ChangeKind::Kyma,
            settle: self.runtimes.settle,
            call: "upgrade_kyma.asked",
            key: "upgrade_kyma.remote",
            shown: "upgrade_kyma.request",
        };
        let (parameters, overrides) = (op.input.parameters.clone(), op.input.overrides.take());
        op.remember(&SentOverrides::of(&overrides))?;
        let from = RequestInputs {
            runtimes: &self.runtimes,
            plan: self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?,
            instance: &instance,
            parameters: &parameters,
            cloud_account: "",
            token: "",
        };
        // The values of overrides may be of the tenant: SentOverrides says which of them may be shown.
        let shown = json!({"version": parameters.kyma_version, "components": parameters.components});
        let change = KymaChange { from, overrides };
        let prepare = |saved| {
            let prepared = backend.change_kyma(runtime, change, saved)?;
            Ok(Some(PreparedCall { shown, ..prepared }))
        };
        remote.carry_out(op, prepare).await
    }
}
