//! Hands the notice to one channel.

use engine::Timestamp;
use engine::prelude::*;

use super::Deliver;
use super::channel::Channel;

pub(crate) struct DeliverTo {
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) retries: RetryPolicy,
}

/// Since when the receiver has it. Remembered, so that a later pass does not send it again.
#[derive(Serialize, Deserialize)]
struct DeliveredFact {
    at: Timestamp,
}

#[async_trait]
impl Step<Deliver> for DeliverTo {
    fn name(&self) -> &'static str {
        self.channel.target().step()
    }

    fn title(&self) -> &'static str {
        self.channel.title()
    }

    fn driver(&self) -> Option<&'static str> {
        Some(self.channel.target().name())
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(self.retries)
    }

    async fn run(&self, op: &mut Operation<Deliver>) -> Outcome {
        let key = format!("{}.taken", self.channel.target().step());
        if op.recall_as::<DeliveredFact>(&key)?.is_some() {
            return done();
        }
        self.channel.deliver(&op.params, op.now()).await?;
        op.remember_as(&key, &DeliveredFact { at: op.now() })?;
        done()
    }
}
