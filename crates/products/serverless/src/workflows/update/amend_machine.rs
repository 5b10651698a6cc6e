//! Updates the placement of every VM, and has the scheduler place it again.

use std::collections::BTreeSet;

use engine::prelude::*;
use opennebula::VmAction;

use super::{Update, going_on_for, put_back};
use crate::model::caller_credentials::credentials;
use crate::model::function::FunctionRole;
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::settings::Serverless;

pub(crate) struct AmendMachine {
    serverless: Arc<Serverless>,
}

/// The VMs that know it.
#[derive(Default, Serialize, Deserialize)]
struct InformedMachines(BTreeSet<FunctionRole>);

impl Fact for InformedMachines {
    const KEY: &'static str = "amend_machine.told";
}

const FAILED: &str = "Failed to update Serverless Runtime Function VM";

impl AmendMachine {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> AmendMachine {
        AmendMachine { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Update> for AmendMachine {
    named!("amend_machine", "Updating placement requirements");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let nebula = &self.serverless.nebula;
        let credentials = credentials(op).await?;
        going_on_for(op);
        let changes = op.params.functions.clone();
        let mut told = op.recall::<InformedMachines>()?.unwrap_or_default();
        for change in changes.iter().filter(|change| !told.0.contains(&change.role)).collect::<Vec<_>>() {
            let Some(place) = &change.place else { continue };
            let amended = nebula.amend_machine(&credentials, change.machine, &place.to.template()).await;
            amended.map_err(|error| stop(op, FAILED, error))?;
            if op.params.reschedule {
                match nebula.act(&credentials, change.machine, VmAction::Resched).await {
                    Ok(()) => {}
                    Err(error) if error.may_heal() => return Err(stop(op, FAILED, error)),
                    // It needs a right that owners of VMs rarely have.
                    Err(error) => {
                        let role = change.role.as_str();
                        op.state.warnings.insert(format!("{role} was not scheduled again: {error}"));
                    }
                }
            }
            told.0.insert(change.role);
            op.remember(&told)?;
        }
        done()
    }

    async fn undo(&self, op: &mut Operation<Update>) -> Outcome {
        let credentials = credentials(op).await?;
        let changes = op.params.functions.clone();
        for change in &changes {
            let Some(place) = &change.place else { continue };
            let template = place.from.template();
            let amended = self.serverless.nebula.amend_machine(&credentials, change.machine, &template).await;
            let what = format!("the place of {}", change.role.as_str());
            put_back(op, &self.serverless.settings, &what, amended)?;
        }
        done()
    }
}
