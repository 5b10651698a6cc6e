//! Ends the services that carry the same name as the one of the runtime: OneFlow made them late, from a call that was
//! made again in the meantime.

use std::collections::BTreeSet;

use engine::prelude::*;

use super::instantiate_service::InstantiateService;
use super::{Create, service_name_of};
use crate::model::caller_credentials::credentials;
use crate::model::limit::watched;
use crate::model::removal::{Removal, RemovalProgress, RemovalScope};
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::settings::Serverless;

pub(crate) struct EndTwins {
    serverless: Arc<Serverless>,
}

/// The twins that were found, and their VMs.
#[derive(Default, Serialize, Deserialize)]
struct Twins {
    services: BTreeSet<i32>,
    machines: BTreeSet<i32>,
}

impl Fact for Twins {
    const KEY: &'static str = "end_twins.found";
}

const FAILED: &str = "Failed to create Serverless Runtime Service";
const WATCHED: &str = "end_twins.watched";

impl EndTwins {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> EndTwins {
        EndTwins { serverless: Arc::clone(serverless) }
    }

    /// Whether there may be any.
    pub(crate) fn is_needed(op: &Operation<Create>) -> bool {
        InstantiateService::may_be_doubled(op).unwrap_or_default()
    }
}

#[async_trait]
impl Step<Create> for EndTwins {
    named!("end_twins", "Removing duplicate services");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Create>) -> Outcome {
        if op.state.runtime.is_some() {
            return done();
        }
        let document = *op.need("the document", |state| state.document.as_ref())?;
        let own_service = *op.need("the service", |state| state.service.as_ref())?;
        let own = credentials(op).await?;
        let removal =
            Removal { nebula: &self.serverless.nebula, credentials: &own, whose: RemovalScope::Made };
        let mut twins = op.recall::<Twins>()?.unwrap_or_default();
        let named = removal.named(document, &service_name_of(op, document)).await;
        twins.services.extend(named.map_err(|error| stop(op, FAILED, error))?);
        twins.services.remove(&own_service);
        if twins.services.is_empty() {
            return done();
        }
        let machines = removal.machines(&twins.services).await;
        twins.machines.extend(machines.map_err(|error| stop(op, FAILED, error))?);
        op.remember(&twins)?;
        op.save().await?;
        let watched = watched(op, &self.serverless.settings, WATCHED)?;
        let progress = removal.press(&twins.services, &mut twins.machines, watched.is_overdue).await;
        match progress.map_err(|error| stop(op, FAILED, error))? {
            RemovalProgress::Gone => done(),
            RemovalProgress::Waits(reason) => wait(self.serverless.settings.pause(watched.time), reason),
        }
    }
}
