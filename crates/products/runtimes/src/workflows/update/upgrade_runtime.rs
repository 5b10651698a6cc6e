//! Has the back end install another version or other components of Kyma, and waits for it.

use engine::prelude::*;

use super::Update;
use super::compare::{plan_id, wanted};
use crate::backend::{Backends, ChangeKind, KymaChange};
use crate::clients::Clients;
use crate::model::request::RequestInputs;
use crate::model::sent::SentOverrides;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::{ChangeProgress, PATIENT, PendingChange};

pub(crate) struct UpgradeRuntime {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
}

impl UpgradeRuntime {
    pub(crate) fn new(clients: &Clients) -> UpgradeRuntime {
        UpgradeRuntime { backends: Backends::new(clients), runtimes: Arc::clone(&clients.runtimes) }
    }
}

#[async_trait]
impl Step<Update> for UpgradeRuntime {
    named!("upgrade_runtime", "Upgrading Kyma components");

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
        let (key, kind) = ("upgrade_runtime.asked", ChangeKind::Kyma);
        let pending = PendingChange { backend, runtime, key, kind };
        let saved = match pending.progress(op).await? {
            ChangeProgress::Over => return done(),
            ChangeProgress::UnderWay(saved) => saved,
            ChangeProgress::NotBegun(saved) => {
                let (parameters, overrides) = (wanted(op)?, op.input.overrides.take());
                op.remember(&SentOverrides::of(&overrides))?;
                let from = RequestInputs {
                    runtimes: &self.runtimes,
                    plan: self.runtimes.plan(plan_id(op)?).map_err(Halt::fail)?,
                    instance: &instance,
                    parameters: &parameters,
                    cloud_account: "",
                    token: "",
                };
                backend.change_kyma(runtime, KymaChange { from, overrides }, saved)?.send.await?
            }
        };
        pending.follow(op, saved).await
    }
}
