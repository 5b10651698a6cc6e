//! How a service ends, by a plain delete or by a forced one, how it is recovered, and how it is scaled.

use std::time::Duration;

use time::OffsetDateTime;

use super::body::CARDINALITY_MAX;
use super::service::{Service, ServiceEnd, all_run, drop_ended};
use super::state::State;
use crate::delays::later;
use crate::opennebula::faults::NebulaFault;
use crate::opennebula::machines::SimulatedVm;
use crate::opennebula::world::NebulaState;

/// The number of the recovery that deletes a machine.
const DELETE: i32 = 3;

impl Service {
    /// Begins to end it, and answers before it has ended.
    pub(super) fn undeploy(
        &mut self,
        nebula_state: &mut NebulaState,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        let is_refused = nebula_state.faults.hits(NebulaFault::DeleteRefused, &self.body.name);
        if is_refused || !self.state().may_be_undeployed() {
            return Err(format!("Service cannot be undeployed in state: {}", self.state().name()));
        }
        if nebula_state.faults.hits(NebulaFault::UndeployFails, &self.body.name) {
            self.enter(State::Undeploying, now);
            self.outcome = ServiceEnd::UndeployFails;
            self.until = Some(later(now, nebula_state.delay_times.undeploy_ms));
            return Ok(());
        }
        self.forget_one_if_scripted(nebula_state);
        self.shut_down(nebula_state, now)
    }

    /// Deletes it whatever its state is.
    pub(super) fn recover_delete(
        &mut self,
        nebula_state: &mut NebulaState,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        if nebula_state.faults.hits(NebulaFault::RecoverDeleteLies, &self.body.name) {
            return Ok(());
        }
        self.outcome = ServiceEnd::Fair;
        self.forget_one_if_scripted(nebula_state);
        self.shut_down(nebula_state, now)
    }

    pub(super) fn recover(
        &mut self,
        nebula_state: &mut NebulaState,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        let state = self.state();
        if !state.may_be_recovered() {
            return Err(format!("Service cannot be recovered in state: {}", state.name()));
        }
        self.outcome = ServiceEnd::Fair;
        match state {
            // It goes on as it does.
            State::Deploying | State::DeployingNets => Ok(()),
            State::Undeploying | State::UndeployingNets | State::FailedUndeploying => {
                let is_stuck = |state| matches!(state, Some(State::Undeploying | State::FailedUndeploying));
                for role in self.body.roles.iter_mut().filter(|role| is_stuck(role.state)) {
                    role.state = Some(State::Running);
                }
                self.shut_down(nebula_state, now)
            }
            State::Scaling | State::FailedScaling | State::Cooldown => {
                self.enter(State::Scaling, now);
                Ok(())
            }
            _ => {
                for role in self.body.roles.iter_mut().filter(|role| !role.is(State::Running)) {
                    role.state = Some(State::Pending);
                }
                self.enter(State::DeployingNets, now);
                self.until = Some(later(now, nebula_state.delay_times.nets_ms));
                Ok(())
            }
        }
    }

    pub(super) fn scale(
        &mut self,
        nebula_state: &mut NebulaState,
        name: &str,
        cardinality: u32,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        if !self.state().may_be_scaled() {
            return Err(format!("Service cannot be scaled in state: {}", self.state().name()));
        }
        if cardinality > CARDINALITY_MAX {
            return Err(format!("cardinality must be at most {CARDINALITY_MAX}"));
        }
        let found = self.body.roles.iter().position(|role| role.name == name);
        let position = found.ok_or_else(|| format!("Role {name} not found"))?;
        let role = &mut self.body.roles[position];
        role.cardinality = cardinality;
        role.state = Some(State::Scaling);
        let surplus: Vec<i32> =
            role.nodes().iter().skip(cardinality as usize).map(|node| node.deploy_id).collect();
        self.enter(State::Scaling, now);
        let mut failure = self.fill(position, nebula_state, now).err();
        for vm in surplus {
            if let Err(call_error) = nebula_state.terminate_vm(&self.owner, vm, false, now) {
                failure = Some(format!("Role {name} : Terminate failed for VM {vm}; {}", call_error.message));
            }
        }
        let Some(why) = failure else { return Ok(()) };
        self.body.roles[position].state = Some(State::FailedScaling);
        self.body.log("E", now.unix_timestamp(), &why);
        self.enter(State::FailedScaling, now);
        Err(why)
    }

    pub(super) fn scale_on(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        let mut cooldown_s = 0;
        for role in self.body.roles.iter_mut().filter(|role| role.is(State::Scaling)) {
            drop_ended(role, nebula_state);
            if role.nodes().len() != role.cardinality as usize || !all_run(role, nebula_state, false) {
                return false;
            }
            role.state = Some(State::Cooldown);
            cooldown_s = role.cooldown.unwrap_or_default();
        }
        self.enter(State::Cooldown, now);
        self.until = Some(now + Duration::from_secs(cooldown_s.into()));
        true
    }

    pub(super) fn cool_down(&mut self, now: OffsetDateTime) -> bool {
        let Some(at) = self.due(now) else { return false };
        for role in self.body.roles.iter_mut().filter(|role| role.is(State::Cooldown)) {
            role.state = Some(State::Running);
        }
        self.enter(State::Running, at);
        true
    }

    pub(super) fn undeploy_on(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        if self.outcome == ServiceEnd::UndeployFails {
            let Some(at) = self.due(now) else { return false };
            let why = format!("Role {} : Delete failed, the machines stay", self.body.roles[0].name);
            self.body.roles[0].state = Some(State::FailedUndeploying);
            self.body.log("E", at.unix_timestamp(), &why);
            self.enter(State::FailedUndeploying, at);
            return true;
        }
        if !self.has_nodes() {
            self.is_gone = self.due(now).is_some();
            return self.is_gone;
        }
        let at = self.moment(now);
        let mut has_moved = false;
        for position in 0..self.body.roles.len() {
            if !self.body.roles[position].is(State::Undeploying) || !self.has_ended(position, nebula_state) {
                continue;
            }
            has_moved = true;
            let mut others = self.body.roles.iter().enumerate().filter(|(other, _)| *other != position);
            if others.all(|(_, role)| role.is(State::Done)) {
                // What became of the last role is not written down any more.
                self.enter(State::UndeployingNets, at);
                self.until = Some(later(at, nebula_state.delay_times.undeploy_ms));
                return true;
            }
            self.body.roles[position].state = Some(State::Done);
            self.body.roles[position].nodes_mut().clear();
        }
        if has_moved {
            let next = self.roles_to_shut_down();
            if self.end_roles(&next, nebula_state, at).is_err() {
                self.enter(State::FailedUndeploying, at);
            }
        }
        has_moved
    }

    /// Ends the machines of the roles whose turn it is. Where there is no such role, also because all are ending or
    /// could not be ended before, the service is deleted as it stands, and its machines are left to themselves.
    fn shut_down(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> Result<(), String> {
        let roles = self.roles_to_shut_down();
        if roles.is_empty() {
            self.is_gone = true;
            return Ok(());
        }
        let ended = self.end_roles(&roles, nebula_state, now);
        if ended.is_err() {
            self.enter(State::FailedUndeploying, now);
            return ended;
        }
        self.enter(State::Undeploying, now);
        if !self.has_nodes() {
            self.until = Some(later(now, nebula_state.delay_times.undeploy_ms));
        }
        Ok(())
    }

    /// In a straight deployment, parents wait until their children are done.
    fn roles_to_shut_down(&self) -> Vec<usize> {
        let is_straight = self.body.deployment == "straight";
        let is_over =
            |state| matches!(state, Some(State::Undeploying | State::Done | State::FailedUndeploying));
        let is_awaited = |name: &String| {
            self.body.roles.iter().any(|role| !role.is(State::Done) && role.parents.contains(name))
        };
        let roles = self.body.roles.iter().enumerate();
        let roles = roles.filter(|(_, role)| !(is_over(role.state) || is_straight && is_awaited(&role.name)));
        roles.map(|(position, _)| position).collect()
    }

    fn end_roles(
        &mut self,
        positions: &[usize],
        nebula_state: &mut NebulaState,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        if !positions.is_empty() {
            self.expected_at = later(now, nebula_state.delay_times.terminate_ms);
        }
        for position in positions {
            let ended = self.end_machines(*position, nebula_state, now);
            let role = &mut self.body.roles[*position];
            if !ended {
                role.state = Some(State::FailedUndeploying);
                let name = &role.name;
                return Err(format!(
                    "Error undeploying role {name}: Error undeploying nodes for role `{name}`"
                ));
            }
            role.state = Some(State::Undeploying);
        }
        Ok(())
    }

    /// What a gentle end does not reach, a hard one may; and only administrators may delete what neither reaches.
    fn end_machines(&mut self, position: usize, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        let role = &self.body.roles[position];
        let (name, nodes) = (role.name.clone(), role.nodes().iter());
        let vms: Vec<i32> =
            nodes.map(|node| node.deploy_id).filter(|vm| !is_ending(nebula_state, *vm)).collect();
        let mut have_ended = true;
        for vm in vms {
            let Err(call_error) = nebula_state.terminate_vm(&self.owner, vm, false, now) else { continue };
            let text = call_error.text("one.vm.action");
            let why = format!("Role {name} : Terminate failed for VM {vm}, will perform a Delete; {text}");
            self.body.log("E", now.unix_timestamp(), &why);
            if nebula_state.terminate_vm(&self.owner, vm, true, now).is_ok() {
                continue;
            }
            if let Err(call_error) = nebula_state.recover_vm(&self.owner, vm, DELETE, now) {
                let text = call_error.text("one.vm.recover");
                self.body.log(
                    "E",
                    now.unix_timestamp(),
                    format!("Role {name} : Delete failed for VM {vm}; {text}"),
                );
                have_ended = false;
            }
        }
        have_ended
    }

    fn has_nodes(&self) -> bool {
        self.body.roles.iter().any(|role| !role.nodes().is_empty())
    }

    fn has_ended(&self, position: usize, nebula_state: &NebulaState) -> bool {
        let mut nodes = self.body.roles[position].nodes().iter();
        nodes.all(|node| nebula_state.vm(node.deploy_id).is_none_or(SimulatedVm::is_done))
    }

    /// The machine runs on, and no role knows it any more.
    fn forget_one_if_scripted(&mut self, nebula_state: &NebulaState) {
        if nebula_state.faults.hits(NebulaFault::ForgetsVm, &self.body.name) {
            let last = self.body.roles.iter_mut().rev().find(|role| !role.nodes().is_empty());
            last.and_then(|role| role.nodes_mut().pop());
        }
    }
}

fn is_ending(nebula_state: &NebulaState, vm: i32) -> bool {
    nebula_state.vm(vm).is_none_or(|machine| machine.is_done() || machine.is_ending())
}
