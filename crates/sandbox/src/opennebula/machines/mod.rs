//! The machines of OpenNebula: how they are born, live, change and end.

mod act;
mod admission;
mod capacity;
mod life;
mod machine;
mod new_machine;
mod shape;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use time::OffsetDateTime;

pub(crate) use self::admission::RESTRICTED;
pub(crate) use self::capacity::Resize;
pub(crate) use self::life::StartOutcome;
pub(crate) use self::machine::SimulatedVm;
pub(crate) use self::new_machine::{NewMachine, extended};
pub(crate) use self::state::{Lcm, State};
use super::call_error::NebulaError;
use super::template::TemplateText;
use super::users::{AuthenticatedUser, NebulaRight, Owned};
use crate::loopback::Network;

#[derive(Debug)]
pub(crate) struct Machines {
    by_id: BTreeMap<i32, SimulatedVm>,
    /// Those that have not ended; the others can only be read.
    living: BTreeSet<i32>,
    /// Those to which something will happen by itself.
    busy: BTreeSet<i32>,
    next_id: i32,
    network: Arc<Network>,
}

impl Machines {
    pub(super) fn new(network: Arc<Network>) -> Self {
        Machines {
            by_id: BTreeMap::new(),
            living: BTreeSet::new(),
            busy: BTreeSet::new(),
            next_id: 0,
            network,
        }
    }

    /// Lets all live on until then, and says which of them ended.
    pub(super) fn settle(&mut self, now: OffsetDateTime) -> Vec<i32> {
        let mut ended = Vec::new();
        for id in &self.busy {
            let Some(machine) = self.by_id.get_mut(id) else { continue };
            machine.settle(now);
            if machine.is_done() {
                ended.push(*id);
                self.living.remove(id);
                machine.addresses().for_each(|address| self.network.release(address));
            }
        }
        self.busy.retain(|id| self.by_id.get(id).is_some_and(SimulatedVm::is_busy));
        ended
    }

    pub(crate) fn get(&self, id: i32) -> Option<&SimulatedVm> {
        self.by_id.get(&id)
    }

    /// Newest first, as oned lists them.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &SimulatedVm> {
        self.by_id.values().rev()
    }

    pub(super) fn living(&self) -> impl Iterator<Item = &SimulatedVm> {
        self.living.iter().filter_map(|id| self.by_id.get(id))
    }

    /// A machine that the caller has this right to, as oned finds it for a call.
    pub(super) fn open(
        &self,
        caller: &AuthenticatedUser,
        id: i32,
        right: NebulaRight,
    ) -> Result<&SimulatedVm, NebulaError> {
        if id < 0 {
            return Err(NebulaError::unauthorized(caller, right, SimulatedVm::OBJECT, None));
        }
        let machine = self.by_id.get(&id).ok_or_else(|| NebulaError::missing("virtual machine", id))?;
        machine.require(caller, right)?;
        Ok(machine)
    }

    /// The same, for a change after which something may happen by itself.
    fn change(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        right: NebulaRight,
    ) -> Result<&mut SimulatedVm, NebulaError> {
        self.open(caller, id, right)?;
        self.busy.insert(id);
        self.by_id.get_mut(&id).ok_or_else(|| NebulaError::missing("virtual machine", id))
    }

    /// Changes what the user may write on a machine.
    pub(super) fn update(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        template: TemplateText,
        appends: bool,
    ) -> Result<(), NebulaError> {
        let machine = self.change(caller, id, NebulaRight::Manage)?;
        if appends {
            machine.user_template.merge(template);
        } else {
            machine.user_template = template;
        }
        Ok(())
    }
}
