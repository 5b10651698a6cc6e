//! Checks that there is a runtime, and puts the new version of Kyma where overrides are chosen by it.

use engine::prelude::*;

use super::Upgrade;

pub(crate) struct Prepare;

#[async_trait]
impl Step<Upgrade> for Prepare {
    named!("prepare", "Checking the runtime");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Upgrade>) -> Outcome {
        let instance = op.input.instance()?;
        if instance.suspended || instance.runtime_id.is_none() {
            return fail("the instance has no runtime to upgrade");
        }
        if let Some(version) = op.params.change.kyma_version.clone() {
            op.input.parameters.kyma_version = Some(version);
        }
        done()
    }
}
