//! Posts the notice to the service that asked for it.

use drivers::webhook::Webhook;
use engine::Timestamp;
use engine::prelude::*;

use super::message::document;
use super::{Deliver, Notices};

pub(super) const NAME: &str = "to_webhook";

pub(super) struct ToWebhook {
    webhook: Webhook,
    retries: RetryPolicy,
}

/// Since when the service has it. Remembered, so that a later pass does not send it again.
#[derive(Serialize, Deserialize)]
struct Taken {
    at: Timestamp,
}

impl Fact for Taken {
    const KEY: &'static str = "to_webhook.taken";
}

impl ToWebhook {
    pub(super) fn of(notices: &Notices) -> Option<ToWebhook> {
        let webhook = notices.webhook.clone()?;
        Some(ToWebhook { webhook, retries: notices.retries })
    }
}

#[async_trait]
impl Step<Deliver> for ToWebhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Posting the notice"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("webhook")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(self.retries)
    }

    async fn run(&self, op: &mut Operation<Deliver>) -> Outcome {
        if op.recall::<Taken>()?.is_some() {
            return done();
        }
        let body = document(&op.params).map_err(|cause| Halt::Fail { cause: cause.into() })?;
        self.webhook.send(&op.params.id.to_string(), &body, op.now()).await?;
        op.remember(&Taken { at: op.now() })?;
        done()
    }
}
