//! Removing a service and its VMs for sure: what OneFlow forgets is terminated by us, and what was asked for
//! is looked at again.

use std::collections::BTreeSet;

use opennebula::{
    DocumentFilter as Listed, NebulaCredentials, NebulaError, NebulaErrorKind as Kind, OpenNebula,
    VirtualMachine, VmAction,
};

use super::state::{ACTIVE, DONE};

/// On behalf of whom something is removed.
pub(crate) struct Removal<'a> {
    pub(crate) nebula: &'a OpenNebula,
    pub(crate) credentials: &'a NebulaCredentials,
    pub(crate) whose: RemovalScope,
}

/// Whose service and VMs are removed. All others stay, whatever rights the credentials have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalScope {
    /// Those that an operation made with the caller's own credentials, and whose ids OpenNebula answered.
    Made,
    /// Those of this user. A document named the ids, and its owner can write anything there.
    OwnedBy(i32),
}

impl RemovalScope {
    fn includes(self, uid: i32) -> bool {
        match self {
            RemovalScope::Made => true,
            RemovalScope::OwnedBy(owner) => uid == owner,
        }
    }

    /// A VM says by itself that OneFlow made it for a service.
    fn includes_machine(self, machine: &VirtualMachine) -> bool {
        let is_of_service = self == RemovalScope::Made || machine.user_template.get("SERVICE_ID").is_some();
        is_of_service && self.includes(machine.uid)
    }
}

/// How far a removal is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RemovalProgress {
    Gone,
    /// For people.
    Waits(String),
}

/// States of a service that is being removed.
const UNDEPLOYING: i32 = 3;
const UNDEPLOYING_NETS: i32 = 12;
/// The state of a role whose VMs could not be ended.
const FAILED_UNDEPLOYING: i32 = 6;

impl Removal<'_> {
    /// The services of this name that were made after their document. There are several where OneFlow carried out a call
    /// so late that it was made again.
    pub(crate) async fn named(&self, document: i32, name: &str) -> Result<BTreeSet<i32>, NebulaError> {
        let listed = match self.whose {
            RemovalScope::Made => Listed::Mine,
            RemovalScope::OwnedBy(_) => Listed::All,
        };
        let newer = self.nebula.services(self.credentials, listed, Some(document)).await?;
        let ours =
            newer.into_iter().filter(|service| service.name == name && self.whose.includes(service.uid));
        Ok(ours.map(|service| service.id).collect())
    }

    /// The VMs that services have, or that say that they belong to them.
    pub(crate) async fn machines(&self, services: &BTreeSet<i32>) -> Result<BTreeSet<i32>, NebulaError> {
        let mut machines = BTreeSet::new();
        for service in services {
            machines.extend(self.machines_of(*service).await?);
        }
        Ok(machines)
    }

    async fn machines_of(&self, service: i32) -> Result<BTreeSet<i32>, NebulaError> {
        let found = match self.nebula.service(self.credentials, service).await {
            Ok(service) if self.whose.includes(service.uid) => {
                service.roles.into_iter().flat_map(|role| role.nodes).collect()
            }
            Ok(_) => BTreeSet::new(),
            Err(error) if error.is(Kind::NotFound) => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        Ok(self.stragglers(service).await?.into_iter().chain(found).collect())
    }

    /// The VMs that say that they belong to a service, whether or not it still exists.
    pub(crate) async fn stragglers(&self, service: i32) -> Result<Vec<i32>, NebulaError> {
        let machines = self.nebula.machines_of_service(self.credentials, service).await?;
        let ours = machines.into_iter().filter(|machine| self.is_left(machine));
        Ok(ours.map(|machine| machine.id).collect())
    }

    /// Asks OneFlow to remove a service, unless it is at it. `urgent` asks again all the same.
    async fn undeploy(&self, service: i32, urgent: bool) -> Result<RemovalProgress, NebulaError> {
        let (nebula, credentials) = (self.nebula, self.credentials);
        let seen = match nebula.service(credentials, service).await {
            Ok(seen) if self.whose.includes(seen.uid) => seen,
            Ok(_) => return Ok(RemovalProgress::Gone),
            Err(error) if error.is(Kind::NotFound) => return Ok(RemovalProgress::Gone),
            Err(error) => return Err(error),
        };
        let asked =
            RemovalProgress::Waits(format!("OneFlow is removing service {service}: {}", seen.state_name()));
        // A role that could not be ended is not tried again by itself, and the service waits for it for ever.
        let is_stuck = seen.roles.iter().any(|role| role.state == FAILED_UNDEPLOYING);
        if matches!(seen.state, UNDEPLOYING | UNDEPLOYING_NETS) && !is_stuck && !urgent {
            return Ok(asked);
        }
        let answer = match nebula.delete_service(credentials, service).await {
            Err(error) if is_state(&error) => nebula.recover_delete_service(credentials, service).await,
            Ok(()) if urgent => nebula.recover_delete_service(credentials, service).await,
            answer => answer,
        };
        match answer {
            Ok(()) => Ok(asked),
            Err(error) if error.is(Kind::NotFound) => Ok(RemovalProgress::Gone),
            Err(error) if is_state(&error) => Ok(RemovalProgress::Waits(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// Asks for the end of every VM that is left, unless it is at it: a VM that is asked again begins again.
    /// `urgent` asks again all the same, and leaves it no time to shut down.
    pub(crate) async fn terminate(
        &self,
        ids: &BTreeSet<i32>,
        urgent: bool,
    ) -> Result<RemovalProgress, NebulaError> {
        let ids: Vec<i32> = ids.iter().copied().collect();
        if ids.is_empty() {
            return Ok(RemovalProgress::Gone);
        }
        let machines = self.nebula.machines(self.credentials, &ids).await?;
        let left: Vec<VirtualMachine> =
            machines.into_iter().filter(|machine| self.is_left(machine)).collect();
        if left.is_empty() {
            return Ok(RemovalProgress::Gone);
        }
        let action = if urgent { VmAction::TerminateHard } else { VmAction::Terminate };
        for machine in left.iter().filter(|machine| urgent || !is_ending(machine)) {
            match self.nebula.act(self.credentials, machine.id, action).await {
                // What is in between two states is asked again once it has arrived.
                Err(error) if !error.is(Kind::NotFound) && !is_state(&error) => return Err(error),
                _ => {}
            }
        }
        let ids: Vec<String> = left.iter().map(|machine| machine.id.to_string()).collect();
        Ok(RemovalProgress::Waits(format!("VM {} is being terminated", ids.join(", "))))
    }

    fn is_left(&self, machine: &VirtualMachine) -> bool {
        machine.state != DONE && self.whose.includes_machine(machine)
    }

    /// One step towards the end of services and their VMs.
    pub(crate) async fn press(
        &self,
        services: &BTreeSet<i32>,
        machines: &mut BTreeSet<i32>,
        urgent: bool,
    ) -> Result<RemovalProgress, NebulaError> {
        if let waits @ RemovalProgress::Waits(_) = self.undeploy_all(services, urgent).await? {
            return Ok(waits);
        }
        for service in services {
            machines.extend(self.stragglers(*service).await?);
        }
        self.terminate(machines, urgent).await
    }

    /// Asks OneFlow to remove all of them, and waits for the last one.
    pub(crate) async fn undeploy_all(
        &self,
        services: &BTreeSet<i32>,
        urgent: bool,
    ) -> Result<RemovalProgress, NebulaError> {
        let mut progress = RemovalProgress::Gone;
        for service in services {
            if let waits @ RemovalProgress::Waits(_) = self.undeploy(*service, urgent).await? {
                progress = waits;
            }
        }
        Ok(progress)
    }
}

/// On its way to its end: epilog, shutdown, clean-up.
fn is_ending(machine: &VirtualMachine) -> bool {
    machine.state == ACTIVE && matches!(machine.lcm_state, 11 | 12 | 23)
}

/// Refused for what it is doing now, and not for ever.
fn is_state(error: &NebulaError) -> bool {
    error.is(Kind::Action) || error.is(Kind::Internal)
}

#[cfg(test)]
mod tests {
    use opennebula::{AttributeName, NebulaTemplate};

    use super::*;

    #[test]
    fn what_a_document_names_is_removed_only_if_its_owner_has_it_from_a_service() {
        let machine = |uid: i32, is_of_service: bool| {
            let mut user_template = NebulaTemplate::new();
            if is_of_service {
                user_template.set(AttributeName::of("SERVICE_ID"), "7");
            }
            let (name, template) = (String::new(), NebulaTemplate::new());
            VirtualMachine {
                id: 1,
                uid,
                name,
                state: 3,
                lcm_state: 3,
                resched: false,
                template,
                user_template,
            }
        };
        let owned = RemovalScope::OwnedBy(4);
        for (scope, uid, is_of_service, is_removed) in [
            (owned, 4, true, true),
            (owned, 4, false, false),
            (owned, 5, true, false),
            (owned, 0, true, false),
            (RemovalScope::Made, 5, false, true),
        ] {
            let included = scope.includes_machine(&machine(uid, is_of_service));
            assert_eq!(included, is_removed, "{scope:?}, {uid}, {is_of_service}");
        }
    }
}
