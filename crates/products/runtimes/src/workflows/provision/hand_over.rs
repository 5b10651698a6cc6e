//! Marks the instance as ready, and says when its plan's time is over.

use engine::prelude::*;

use super::Provision;
use crate::model::settings::RuntimesSettings;

pub(crate) struct HandOver {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

const DAY: Duration = Duration::from_hours(24);

#[async_trait]
impl Step<Provision> for HandOver {
    named!("hand_over", "Handing over the runtime");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let plan_id = &op.input.instance()?.plan_id;
        let days = self.runtimes.plan(plan_id).map_err(Halt::fail)?.expires_after_days;
        let now = op.now();
        let instance = op.input.change(|instance| {
            instance.ready = true;
            // A suspension does not buy time: what was said first counts.
            instance.expires_at = instance.expires_at.or(days.map(|days| now.plus(DAY * days)));
        })?;
        op.set_record(&instance)?;
        done()
    }

    async fn preview(&self, _op: &mut Operation<Provision>) -> Result<(), Halt> {
        Ok(())
    }
}
