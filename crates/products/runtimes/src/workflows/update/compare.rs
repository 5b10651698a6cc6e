//! Finds out what has to change: the cluster, Kyma on it, both or neither.

use engine::prelude::*;

use super::Update;
use crate::model::parameters::Parameters;
use crate::model::request;
use crate::model::settings::RuntimesSettings;
use crate::workflows::shared::opened;

pub(crate) struct Compare {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

#[async_trait]
impl Step<Update> for Compare {
    named!("compare", "Comparing desired and actual state");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let new = wanted(op)?;
        if let Some(context) = &op.params.context {
            op.input.context = opened(op, context)?;
        }
        let plan_id = op.params.plan_id.as_ref().unwrap_or(&op.input.instance()?.plan_id);
        let plan = self.runtimes.plan(plan_id).map_err(Halt::fail)?;
        let old = &op.input.parameters;
        let cluster = request::upgrade_shoot(plan, old, &new);
        op.state.changes_cluster = cluster != provisioner::UpgradeShootInput::default();
        op.state.changes_kyma = old.kyma_version != new.kyma_version || old.components != new.components;
        done()
    }
}

/// The parameters as they are to be.
pub(crate) fn wanted(op: &Operation<Update>) -> Result<Parameters, Halt> {
    match &op.params.parameters {
        Some(sealed) => Parameters::read(&opened(op, sealed)?).map_err(Halt::fail),
        None => Ok(op.input.parameters.clone()),
    }
}
