//! Waits until the credentials of the bindings that the request ended are taken back. The cluster takes all of them with
//! it, so this does not wait for ever.

use engine::Timestamp;
use engine::prelude::*;

use super::Deprovision;
use crate::model::Binding;

pub(crate) struct EndBindings;

const PAUSE: Duration = Duration::from_secs(1);
/// A cluster that does not answer for so long takes its credentials with it.
const PATIENCE: Duration = Duration::from_mins(5);

/// Since when it waits.
const SINCE: &str = "end_bindings.since";

#[async_trait]
impl Step<Deprovision> for EndBindings {
    named!("end_bindings", "Waiting for bindings to end");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        let instance = op.input.instance()?.clone();
        if instance.ending_bindings.is_empty() {
            return done();
        }
        let since = op.recall_as::<Timestamp>(SINCE)?.unwrap_or_else(|| op.now());
        op.remember_as(SINCE, &since)?;
        if op.now().since(since) >= PATIENCE {
            return done();
        }
        for id in &instance.ending_bindings {
            let binding = op.record::<Binding>(&Binding::resource(&instance.instance_id, id)).await?;
            if binding.is_some_and(|binding| binding.gone_at.is_none()) {
                return wait(PAUSE, "the credentials of its bindings are being taken back");
            }
        }
        done()
    }
}
