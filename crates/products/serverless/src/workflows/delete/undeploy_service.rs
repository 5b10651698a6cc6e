//! Has OneFlow remove the service. Whatever VMs can be found are remembered before that: OneFlow is known to
//! forget them.

use engine::prelude::*;
use opennebula::NebulaErrorKind as Kind;

use super::{Delete, failed, named, services, whose};
use crate::model::caller_credentials::credentials;
use crate::model::limit::watched;
use crate::model::removal::{Removal, RemovalProgress};
use crate::model::report::{OPENNEBULA, PATIENT, stop};
use crate::model::settings::Serverless;

pub(crate) struct UndeployService {
    serverless: Arc<Serverless>,
}

const WATCHED: &str = "undeploy_service.watched";

impl UndeployService {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> UndeployService {
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
        op.state.service = op.params.service;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        // The document names no service where the runtime was never made to the end, and only one of twins.
        let named = named(op, &removal).await;
        op.state.twins = named.map_err(|error| stop(op, "Failed to delete Serverless Runtime", error))?;
        if op.state.service.is_none() {
            op.state.service = op.state.twins.first().copied();
        }
        let machines = removal.machines(&services(op)).await;
        let machines = machines.map_err(|error| {
            let text = failed(op);
            stop(op, &text, error)
        })?;
        op.state.machines.extend(machines);
        op.state.surveyed = true;
        op.save().await
    }
}

#[async_trait]
impl Step<Delete> for UndeployService {
    named!("undeploy_service", "Removing the service");

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
        let services = services(op);
        if services.is_empty() {
            return done();
        }
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let watched = watched(op, &self.serverless.settings, WATCHED)?;
        match removal.undeploy_all(&services, watched.is_overdue).await {
            Ok(RemovalProgress::Gone) => done(),
            Ok(RemovalProgress::Waits(reason)) => wait(self.serverless.settings.pause(watched.time), reason),
            Err(error) => {
                let text = failed(op);
                Err(stop(op, &text, error))
            }
        }
    }
}
