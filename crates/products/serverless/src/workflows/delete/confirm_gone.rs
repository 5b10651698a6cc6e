//! Looks once more whether everything is gone. A VM that turns up now is remembered, and the next pass ends it.

use std::collections::BTreeSet;

use engine::prelude::*;
use opennebula::NebulaError;

use super::{Delete, failed, going_on_for, named, services, whose};
use crate::model::caller_credentials::credentials;
use crate::model::removal::Removal;
use crate::model::report::{OPENNEBULA, PATIENT, stop};
use crate::model::settings::Serverless;

pub(crate) struct ConfirmGone {
    serverless: Arc<Serverless>,
}

impl ConfirmGone {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> ConfirmGone {
        ConfirmGone { serverless: Arc::clone(serverless) }
    }

    /// The services and the VMs that are there again, or still.
    async fn look(
        &self,
        op: &Operation<Delete>,
        removal: &Removal<'_>,
        services: &BTreeSet<i32>,
    ) -> Result<(BTreeSet<i32>, BTreeSet<i32>), NebulaError> {
        let late = named(op, removal).await?;
        let mut left = BTreeSet::new();
        for service in services {
            left.extend(removal.stragglers(*service).await?);
        }
        Ok((late, left))
    }
}

#[async_trait]
impl Step<Delete> for ConfirmGone {
    named!("confirm_gone", "Confirming the removal");

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
        let services = services(op);
        if op.state.confirmed || (services.is_empty() && op.state.owner.is_none()) {
            return done();
        }
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let (late, left) = match self.look(op, &removal, &services).await {
            Ok(found) => found,
            Err(error) => {
                let text = failed(op);
                return Err(stop(op, &text, error));
            }
        };
        if late.is_empty() && left.is_empty() {
            op.state.confirmed = true;
            return done();
        }
        let reason = match late.first() {
            Some(service) => format!("service {service} has turned up"),
            None => "VMs have turned up".to_owned(),
        };
        op.state.twins.extend(late);
        op.state.machines.extend(left);
        wait(self.serverless.settings.pause(going_on_for(op)), reason)
    }
}
