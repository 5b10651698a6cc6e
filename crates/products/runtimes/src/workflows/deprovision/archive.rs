//! Turns the record into a tombstone, or into that of a suspended instance.

use engine::prelude::*;

use super::Deprovision;

pub(crate) struct Archive;

#[async_trait]
impl Step<Deprovision> for Archive {
    named!("archive", "Closing the record");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let (now, temporary) = (op.now(), op.params.temporary);
        let (runtime_id, skipped) = (op.state.runtime_id.clone(), op.skipped());
        let instance = op.input.change(|instance| {
            let former = runtime_id.filter(|id| !instance.former_runtimes.contains(id));
            instance.former_runtimes.extend(former);
            instance.runtime_id = None;
            instance.runtime_uid = None;
            instance.asked_at = None;
            instance.kubeconfig = None;
            instance.dashboard_url = None;
            instance.cloud_account = None;
            instance.not_completed = skipped;
            instance.ending_bindings = Vec::new();
            if !temporary {
                instance.gone_at = instance.gone_at.or(Some(now));
            }
        })?;
        op.set_record(&instance)?;
        done()
    }
}
