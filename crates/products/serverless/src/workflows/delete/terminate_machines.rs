//! Terminates the VMs that outlived their service.

use engine::prelude::*;

use super::{Delete, failed, whose};
use crate::model::caller_credentials::credentials;
use crate::model::limit::watched;
use crate::model::removal::{Removal, RemovalProgress};
use crate::model::report::{OPENNEBULA, PATIENT, stop};
use crate::model::settings::Serverless;

pub(crate) struct TerminateMachines {
    serverless: Arc<Serverless>,
}

impl TerminateMachines {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> TerminateMachines {
        TerminateMachines { serverless: Arc::clone(serverless) }
    }
}

const WATCHED: &str = "terminate_machines.watched";

#[async_trait]
impl Step<Delete> for TerminateMachines {
    named!("terminate_machines", "Terminating VMs that are left");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<Delete>) -> Outcome {
        let credentials = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &credentials, whose: whose(op) };
        let watched = watched(op, &self.serverless.settings, WATCHED)?;
        match removal.terminate(&op.state.machines, watched.is_overdue).await {
            Ok(RemovalProgress::Gone) => done(),
            Ok(RemovalProgress::Waits(reason)) => wait(self.serverless.settings.pause(watched.time), reason),
            Err(error) => {
                let text = failed(op);
                Err(stop(op, &text, error))
            }
        }
    }
}
