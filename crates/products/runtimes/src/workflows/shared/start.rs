//! Reads the record of the instance. The store has made sure that no other operation works on it: one that came
//! later waits in line.

use engine::prelude::*;

use super::OnInstance;
use crate::model::instance::InstanceRecord;

pub(crate) struct Start;

#[async_trait]
impl<W: OnInstance> Step<W> for Start {
    named!("start", "Taking over the instance");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let instance = op.subject::<InstanceRecord>().await?.ok_or_else(|| {
            Halt::fail("there is no record of this instance; ask for a runtime through the broker")
        })?;
        if instance.gone_at.is_some() && !W::TAKES_GONE {
            return fail("the instance does not exist any longer");
        }
        op.input.instance = Some(instance);
        done()
    }
}
