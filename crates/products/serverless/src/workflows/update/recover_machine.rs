//! Asks OpenNebula to try a VM in an error state again, as callers expect it from an update, and refuses the update.

use engine::prelude::*;
use opennebula::{NebulaError, Recovery};

use super::Update;
use crate::model::caller_credentials::credentials;
use crate::model::function::FunctionRole;
use crate::model::report::{OPENNEBULA, refuse};
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::Serverless;

pub(crate) struct RecoverMachine {
    serverless: Arc<Serverless>,
}

/// It is never made again: the VM may be on its way already.
const CALL: &str = "recover_machine.asked";

impl RecoverMachine {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> RecoverMachine {
        RecoverMachine { serverless: Arc::clone(serverless) }
    }

    /// What became of it, for the caller.
    async fn recover(&self, op: &mut Operation<Update>, machine: i32) -> Result<String, Halt> {
        if op.calls(CALL)?.is_some() {
            return Ok("OpenNebula was asked to try again".to_owned());
        }
        let credentials = credentials(op).await?;
        let call = self.serverless.nebula.recover(&credentials, machine, Recovery::Retry);
        Ok(match op.attempt(CALL).call(call, NebulaError::may_have_happened).await? {
            Ok(()) => "OpenNebula tries again".to_owned(),
            Err(error) if error.may_have_happened() => {
                format!("OpenNebula was asked to try again, and its answer was lost: {error}")
            }
            Err(error) => format!("the recovery was not possible: {error}"),
        })
    }
}

pub(crate) fn on_an_error_state(role: FunctionRole) -> String {
    format!("Cannot update Serverless Runtime Function VM {} on an error state", role.as_str())
}

#[async_trait]
impl Step<Update> for RecoverMachine {
    named!("recover_machine", "Recovering a VM in an error state");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let broken = op.params.functions.iter().find_map(|change| {
            let why = change.recover.clone()?;
            Some((change.role, change.machine, why))
        });
        let Some((role, machine, why)) = broken else { return done() };
        let recovery = self.recover(op, machine).await?;
        let error = format!("{}. A recovery was attempted", on_an_error_state(role));
        Err(refuse(op, RuntimeError::new(500, error, why).and(&recovery)))
    }
}
