//! Has OneFlow remove the service. Whatever machines can be found are remembered before that: OneFlow is known to
//! forget them.

use drivers::opennebula::Refusal as Kind;
use engine::prelude::*;

use super::{Delete, failed, going_on_for, whose};
use crate::serverless::errand::credentials;
use crate::serverless::marks;
use crate::serverless::removal::{Progress, Removal};
use crate::serverless::report::{OPENNEBULA, PATIENT, stop};
use crate::serverless::settings::Serverless;

pub(super) struct UndeployService {
    serverless: Arc<Serverless>,
}

impl UndeployService {
    pub(super) fn new(serverless: &Arc<Serverless>) -> UndeployService {
        UndeployService { serverless: Arc::clone(serverless) }
    }

    /// What belongs to the runtime, from everywhere where that can be learned.
    async fn survey(&self, op: &mut Operation<Delete>) -> Result<(), Halt> {
        let credentials = credentials(op).await?;
        let document = self.serverless.nebula.document(&credentials, op.params.document).await;
        match document {
            Ok(document) => op.state.owner = Some(document.uid),
            // Nothing says any longer whose the rest is: it is found as an orphan.
            Err(error) if error.is(Kind::NotFound) => {
                op.state.surveyed = true;
                return op.save().await;
            }
            Err(error) => return Err(stop(op, "Failed to delete Serverless Runtime", error)),
        }
        op.state.machines.extend(op.params.machines.iter().copied());
        op.state.service = match (op.params.service, &op.params.token) {
            (Some(service), _) => Some(service),
            // It was never made to the end, and its service may be there all the same.
            (None, Some(token)) => {
                let name = marks::service_name(op.params.document, token);
                let all = self.serverless.nebula.services(&credentials).await;
                let all = all.map_err(|error| stop(op, "Failed to delete Serverless Runtime", error))?;
                all.into_iter().find(|service| service.name == name).map(|service| service.id)
            }
            (None, None) => None,
        };
        if let Some(service) = op.state.service {
            let removal =
                Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
            let machines = removal.machines(service).await;
            let machines = machines.map_err(|error| {
                let text = failed(op);
                stop(op, &text, error)
            })?;
            op.state.machines.extend(machines);
        }
        op.state.surveyed = true;
        op.save().await
    }
}

#[async_trait]
impl Step<Delete> for UndeployService {
    fn name(&self) -> &'static str {
        "undeploy_service"
    }

    fn title(&self) -> &'static str {
        "Removing the service"
    }

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        if !op.state.surveyed {
            self.survey(op).await?;
        }
        let Some(service) = op.state.service else { return done() };
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let going_on_for = going_on_for(op);
        let urgent = going_on_for > self.serverless.settings.timeout;
        match removal.undeploy(service, urgent).await {
            Ok(Progress::Gone) => done(),
            Ok(Progress::Waits(reason)) => wait(self.serverless.settings.pause(going_on_for), reason),
            Err(error) => {
                let text = failed(op);
                Err(stop(op, &text, error))
            }
        }
    }
}
