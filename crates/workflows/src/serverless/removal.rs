//! Removing a service and its machines for sure: what OneFlow forgets is terminated by us, and what was asked for
//! is looked at again.

use std::collections::BTreeSet;

use drivers::opennebula::{Action, Credentials, Machine, NebulaError, OpenNebula, Refusal as Kind};

use super::state::DONE;

/// On behalf of whom something is removed.
pub(super) struct Removal<'a> {
    pub(super) nebula: &'a OpenNebula,
    pub(super) credentials: &'a Credentials,
}

/// How far a removal is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Gone,
    /// For people.
    Waits(String),
}

/// States of a service that is being removed.
const UNDEPLOYING: i32 = 3;
const UNDEPLOYING_NETS: i32 = 12;

impl Removal<'_> {
    /// The machines that a service has, or that say that they belong to it.
    pub(super) async fn machines(&self, service: i32) -> Result<BTreeSet<i32>, NebulaError> {
        let found = match self.nebula.service(self.credentials, service).await {
            Ok(service) => service.roles.into_iter().flat_map(|role| role.nodes).collect(),
            Err(error) if error.is(Kind::NotFound) => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        Ok(self.stragglers(service).await?.into_iter().chain(found).collect())
    }

    /// The machines that say that they belong to a service, whether or not it still exists.
    pub(super) async fn stragglers(&self, service: i32) -> Result<Vec<i32>, NebulaError> {
        let machines = self.nebula.machines_of_service(self.credentials, service).await?;
        Ok(machines.into_iter().filter(is_alive).map(|machine| machine.id).collect())
    }

    /// Asks OneFlow to remove a service, unless it is at it. `urgent` asks again all the same.
    pub(super) async fn undeploy(&self, service: i32, urgent: bool) -> Result<Progress, NebulaError> {
        let (nebula, credentials) = (self.nebula, self.credentials);
        let seen = match nebula.service(credentials, service).await {
            Ok(seen) => seen,
            Err(error) if error.is(Kind::NotFound) => return Ok(Progress::Gone),
            Err(error) => return Err(error),
        };
        let asked = Progress::Waits(format!("OneFlow is removing service {service}: {}", seen.state_name()));
        if matches!(seen.state, UNDEPLOYING | UNDEPLOYING_NETS) && !urgent {
            return Ok(asked);
        }
        let answer = match nebula.delete_service(credentials, service).await {
            Err(error) if is_state(&error) => nebula.recover_delete_service(credentials, service).await,
            Ok(()) if urgent => nebula.recover_delete_service(credentials, service).await,
            answer => answer,
        };
        match answer {
            Ok(()) => Ok(asked),
            Err(error) if error.is(Kind::NotFound) => Ok(Progress::Gone),
            Err(error) if is_state(&error) => Ok(Progress::Waits(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Asks for the end of every machine that is left.
    pub(super) async fn terminate(&self, ids: &BTreeSet<i32>, urgent: bool) -> Result<Progress, NebulaError> {
        let ids: Vec<i32> = ids.iter().copied().collect();
        if ids.is_empty() {
            return Ok(Progress::Gone);
        }
        let machines = self.nebula.machines(self.credentials, &ids).await?;
        let left: Vec<Machine> = machines.into_iter().filter(is_alive).collect();
        if left.is_empty() {
            return Ok(Progress::Gone);
        }
        let action = if urgent { Action::TerminateHard } else { Action::Terminate };
        for machine in &left {
            match self.nebula.act(self.credentials, machine.id, action).await {
                // What is in between two states is asked again once it has arrived.
                Err(error) if !error.is(Kind::NotFound) && !is_state(&error) => return Err(error),
                _ => {}
            }
        }
        let ids: Vec<String> = left.iter().map(|machine| machine.id.to_string()).collect();
        Ok(Progress::Waits(format!("VM {} is being terminated", ids.join(", "))))
    }

    /// One step towards the end of a service and its machines.
    pub(super) async fn press(
        &self,
        service: i32,
        machines: &mut BTreeSet<i32>,
        urgent: bool,
    ) -> Result<Progress, NebulaError> {
        if let waits @ Progress::Waits(_) = self.undeploy(service, urgent).await? {
            return Ok(waits);
        }
        machines.extend(self.stragglers(service).await?);
        self.terminate(machines, urgent).await
    }
}

fn is_alive(machine: &Machine) -> bool {
    machine.state != DONE
}

/// Refused for what it is doing now, and not for ever.
fn is_state(error: &NebulaError) -> bool {
    error.is(Kind::Action) || error.is(Kind::Internal)
}
