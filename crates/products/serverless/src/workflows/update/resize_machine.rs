//! Gives every VM its new capacity, waits until it runs again, and looks whether it really has it: a host may
//! refuse what OpenNebula has accepted.

use std::collections::BTreeSet;

use engine::Timestamp;
use engine::prelude::*;
use opennebula::VirtualMachine;

use super::change::{FunctionChange, has, words};
use super::recover_machine::on_an_error_state;
use super::{Update, going_on_for, leave, put_back};
use crate::model::caller_credentials::credentials;
use crate::model::function::{FunctionRole, ObservedFunction};
use crate::model::limit::watched;
use crate::model::report::{OPENNEBULA, brisk, refuse, stop};
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::Serverless;
use crate::model::state::RuntimeState;

pub(crate) struct ResizeMachine {
    serverless: Arc<Serverless>,
}

/// The VMs for which OpenNebula has accepted the new capacity.
#[derive(Default, Serialize, Deserialize)]
struct ResizedMachines(BTreeSet<FunctionRole>);

impl Fact for ResizedMachines {
    const KEY: &'static str = "resize_machine.accepted";
}

/// Since when the old capacity is being put back, and for which VMs it has been accepted.
#[derive(Serialize, Deserialize)]
struct Back {
    since: Timestamp,
    accepted: BTreeSet<FunctionRole>,
}

impl Fact for Back {
    const KEY: &'static str = "resize_machine.back";
}

const FAILED: &str = "Failed to resize Serverless Runtime Function VM capacity";
/// How long a VM has been on its way to its new capacity, and to its old one.
const WATCHED: &str = "resize_machine.watched";
const BACK_WATCHED: &str = "resize_machine.back_watched";

impl ResizeMachine {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> ResizeMachine {
        ResizeMachine { serverless: Arc::clone(serverless) }
    }

    async fn resize(&self, op: &mut Operation<Update>, change: &FunctionChange) -> Outcome {
        let credentials = credentials(op).await?;
        let machine = self.serverless.nebula.machine(&credentials, change.machine).await;
        let machine = machine.map_err(|error| stop(op, FAILED, error))?;
        settled(&self.serverless, op, (WATCHED, change.role), &machine)?;
        let capacity = change.capacity();
        if has(&machine, capacity) {
            return done();
        }
        let mut accepted = op.recall::<ResizedMachines>()?.unwrap_or_default();
        if accepted.0.contains(&change.role) {
            let message = format!("VM {} runs again and does not have {}", machine.id, words(capacity));
            let why = machine.user_template.get("ERROR").unwrap_or("its host did not do it");
            return Err(refuse(op, RuntimeError::new(500, FAILED, format!("{message}: {why}"))));
        }
        let answer = self.serverless.nebula.resize(&credentials, change.machine, capacity).await;
        answer.map_err(|error| stop(op, FAILED, error))?;
        accepted.0.insert(change.role);
        op.remember(&accepted)?;
        let going_on_for = going_on_for(op);
        wait(self.serverless.settings.pause(going_on_for), format!("VM {} is being resized", change.machine))
    }

    async fn give_back(&self, op: &mut Operation<Update>, change: &FunctionChange) -> Outcome {
        let (nebula, settings) = (&self.serverless.nebula, &self.serverless.settings);
        let credentials = credentials(op).await?;
        let what = format!("the capacity of {}", change.role.as_str());
        let machine = nebula.machine(&credentials, change.machine).await;
        let Some(machine) = put_back(op, settings, &what, machine)? else { return done() };
        let old = change.old_capacity();
        let state = ObservedFunction::of(&machine).state;
        if has(&machine, old) && state == RuntimeState::Running {
            return done();
        }
        let mut back = op.recall::<Back>()?.unwrap_or(Back { since: op.now(), accepted: BTreeSet::new() });
        let key = format!("{BACK_WATCHED}.{}", change.role.as_str());
        let is_late = watched(op, settings, &key)?.time > settings.timeout;
        match state {
            RuntimeState::Pending | RuntimeState::Updating if !is_late => {
                op.remember(&back)?;
                return wait(settings.poll, format!("VM {} cannot be resized at the moment", machine.id));
            }
            RuntimeState::Running if !back.accepted.contains(&change.role) => {
                let resized = nebula.resize(&credentials, change.machine, old).await;
                if put_back(op, settings, &what, resized)?.is_some() {
                    back.accepted.insert(change.role);
                    op.remember(&back)?;
                    return wait(settings.poll, "the old capacity is being put back");
                }
            }
            _ => leave(op, &format!("{what} is not {} again: VM {} is {state}", words(old), machine.id)),
        }
        done()
    }
}

/// Goes on once the VM runs, and not for ever.
pub(crate) fn settled(
    serverless: &Serverless,
    op: &mut Operation<Update>,
    (step, role): (&str, FunctionRole),
    machine: &VirtualMachine,
) -> Result<(), Halt> {
    let seen = ObservedFunction::of(machine);
    match seen.state {
        RuntimeState::Running => Ok(()),
        RuntimeState::Error => {
            let error = on_an_error_state(role);
            Err(refuse(op, RuntimeError::new(500, error, seen.error.unwrap_or_default())))
        }
        state @ (RuntimeState::Pending | RuntimeState::Updating) => {
            let role = role.as_str();
            let going_on_for = watched(op, &serverless.settings, &format!("{step}.{role}"))?.time;
            if going_on_for >= serverless.settings.timeout {
                let error =
                    format!("Serverless Runtime Function VM {role} stuck while updating capabilities");
                return Err(refuse(op, RuntimeError::new(504, error, state.as_str())));
            }
            let reason = format!("VM {} of {role} is {state}", machine.id);
            wait(serverless.settings.pause(going_on_for), reason).map(drop)
        }
    }
}

#[async_trait]
impl Step<Update> for ResizeMachine {
    named!("resize_machine", "Resizing the VMs");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        let changes = op.params.functions.clone();
        for change in changes.iter().filter(|change| change.resizes()) {
            self.resize(op, change).await?;
        }
        done()
    }

    async fn undo(&self, op: &mut Operation<Update>) -> Outcome {
        let changes = op.params.functions.clone();
        for change in changes.iter().rev().filter(|change| change.resizes()) {
            self.give_back(op, change).await?;
        }
        done()
    }
}
