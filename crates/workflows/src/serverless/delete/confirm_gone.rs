//! Looks once more whether everything is gone. A machine that turns up now is remembered, and the next pass ends it.

use engine::prelude::*;

use super::{Delete, failed, going_on_for, whose};
use crate::serverless::errand::credentials;
use crate::serverless::removal::Removal;
use crate::serverless::report::{OPENNEBULA, PATIENT, stop};
use crate::serverless::settings::Serverless;

pub(super) struct ConfirmGone {
    serverless: Arc<Serverless>,
}

impl ConfirmGone {
    pub(super) fn new(serverless: &Arc<Serverless>) -> ConfirmGone {
        ConfirmGone { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Delete> for ConfirmGone {
    fn name(&self) -> &'static str {
        "confirm_gone"
    }

    fn title(&self) -> &'static str {
        "Making sure that everything is gone"
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        let Some(service) = op.state.service.filter(|_| !op.state.confirmed) else { return done() };
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let left = match removal.stragglers(service).await {
            Ok(left) => left,
            Err(error) => {
                let text = failed(op);
                return Err(stop(op, &text, error));
            }
        };
        if left.is_empty() {
            op.state.confirmed = true;
            return done();
        }
        op.state.machines.extend(left);
        let reason = format!("machines of service {service} have turned up");
        wait(self.serverless.settings.pause(going_on_for(op)), reason)
    }
}
