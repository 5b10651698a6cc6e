//! Hands the notice to Kafka, and waits until all replicas have it.

use drivers::kafka::Producer;
use engine::Timestamp;
use engine::prelude::*;

use super::message::message;
use super::{Deliver, Notices};

pub(super) const NAME: &str = "to_kafka";

pub(super) struct ToKafka {
    producer: Producer,
    notices: Notices,
}

/// Since when Kafka has it. Remembered, so that a later pass does not send it again.
#[derive(Serialize, Deserialize)]
struct Taken {
    at: Timestamp,
}

impl Fact for Taken {
    const KEY: &'static str = "to_kafka.taken";
}

impl ToKafka {
    pub(super) fn of(notices: &Notices) -> Option<ToKafka> {
        let producer = notices.producer.clone()?;
        Some(ToKafka { producer, notices: notices.clone() })
    }
}

#[async_trait]
impl Step<Deliver> for ToKafka {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Handing the notice to Kafka"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("kafka")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(self.notices.retries)
    }

    async fn run(&self, op: &mut Operation<Deliver>) -> Outcome {
        if op.recall::<Taken>()?.is_some() {
            return done();
        }
        let message =
            message(&op.params, &self.notices).map_err(|cause| Halt::Fail { cause: cause.into() })?;
        self.producer.send(message).await?;
        op.remember(&Taken { at: op.now() })?;
        done()
    }
}
