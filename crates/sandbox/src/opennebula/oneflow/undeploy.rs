//! How a service ends, by a plain delete or by a forced one, how it is recovered, and how it is scaled.

use std::time::Duration;

use time::OffsetDateTime;

use super::body::CARDINALITY_MAX;
use super::service::{Failed, Fate, Service, all_run, drop_ended};
use super::state::State;
use crate::opennebula::machines::{Lcm, Machine, State as Vm};
use crate::opennebula::mischief::Mischief;
use crate::opennebula::pace::later;
use crate::opennebula::world::Estate;

impl Service {
    /// Begins to end it, and answers before it has ended.
    pub(super) fn undeploy(&mut self, estate: &mut Estate, now: OffsetDateTime) -> Result<(), String> {
        let is_refused = estate.mischief.take(Mischief::DeleteRefused, &self.body.name);
        if is_refused || !self.state().may_be_undeployed() {
            return Err(format!("Service cannot be undeployed in state: {}", self.state().name()));
        }
        if self.state() == State::Undeploying {
            return Ok(());
        }
        self.enter(State::Undeploying, now);
        if estate.mischief.take(Mischief::UndeployFails, &self.body.name) {
            self.fate = Fate::UndeployFails;
            self.until = Some(later(now, estate.pace.undeploy_ms));
            return Ok(());
        }
        self.forget_one_if_scripted(estate);
        self.undeploy_roles(estate, false, now)
    }

    /// Deletes it whatever its state is. If a machine cannot be ended, the first call says so; the second one
    /// deletes the service and leaves the machine, as the real one does.
    pub(super) fn recover_delete(&mut self, estate: &mut Estate, now: OffsetDateTime) -> Result<(), String> {
        if estate.mischief.take(Mischief::RecoverDeleteLies, &self.body.name) {
            return Ok(());
        }
        if self.is_given_up {
            self.is_gone = true;
            return Ok(());
        }
        self.fate = Fate::Fair;
        if self.state() == State::UndeployingNets {
            return Ok(());
        }
        self.forget_one_if_scripted(estate);
        if self.state() != State::Undeploying {
            self.enter(State::Undeploying, now);
        }
        let ended = self.undeploy_roles(estate, true, now);
        self.is_given_up = ended.is_err();
        ended
    }

    pub(super) fn recover(&mut self, estate: &mut Estate, now: OffsetDateTime) -> Result<(), String> {
        let state = self.state();
        if !state.may_be_recovered() {
            return Err(format!("Service cannot be recovered in state: {}", state.name()));
        }
        self.fate = Fate::Fair;
        match state {
            State::Undeploying | State::UndeployingNets | State::FailedUndeploying => {
                self.enter(State::Undeploying, now);
                self.undeploy_roles(estate, false, now)
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
                self.until = Some(later(now, estate.pace.nets_ms));
                Ok(())
            }
        }
    }

    pub(super) fn scale(
        &mut self,
        estate: &mut Estate,
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
        let mut failure = self.fill(position, estate, now).err();
        for vm in surplus {
            if let Err(refusal) = estate.terminate_vm(&self.owner, vm, false, now) {
                failure = Some(format!("Role {name} : Terminate failed for VM {vm}; {}", refusal.message));
            }
        }
        let Some(why) = failure else { return Ok(()) };
        self.body.roles[position].state = Some(State::FailedScaling);
        self.body.log("E", now.unix_timestamp(), &why);
        self.enter(State::FailedScaling, now);
        Err(why)
    }

    pub(super) fn scale_on(&mut self, estate: &mut Estate, now: OffsetDateTime) -> bool {
        let mut cooldown_s = 0;
        for role in self.body.roles.iter_mut().filter(|role| role.is(State::Scaling)) {
            drop_ended(role, estate);
            if role.nodes().len() != role.cardinality as usize || !all_run(role, estate, false) {
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

    pub(super) fn undeploy_on(&mut self, estate: &mut Estate, now: OffsetDateTime) -> bool {
        if self.fate == Fate::UndeployFails {
            let Some(at) = self.due(now) else { return false };
            let why = format!("Role {} : Delete failed, the machines stay", self.body.roles[0].name);
            self.fail_undeploying(0, &why, at);
            return true;
        }
        let mut has_moved = false;
        for role in self.body.roles.iter_mut().filter(|role| role.is(State::Undeploying)) {
            drop_ended(role, estate);
            if role.nodes().is_empty() {
                role.state = Some(State::Done);
                has_moved = true;
            }
        }
        if has_moved && self.undeploy_roles(estate, false, self.moment(now)).is_err() {
            return true;
        }
        if self.body.roles.iter().all(|role| role.is(State::Done)) {
            let at = self.moment(now);
            self.enter(State::UndeployingNets, at);
            self.until = Some(later(at, estate.pace.undeploy_ms));
            has_moved = true;
        }
        has_moved
    }

    /// Ends the machines of the roles that no other one stands on. A forced end takes all at once.
    fn undeploy_roles(&mut self, estate: &mut Estate, hard: bool, now: OffsetDateTime) -> Result<(), String> {
        let is_straight = self.body.deployment == "straight" && !hard;
        let over = self.names_in(State::Done);
        let roles = &self.body.roles;
        let is_free = |name: &str| {
            let mut children = roles.iter().filter(|role| role.parents.iter().any(|parent| *parent == *name));
            !is_straight || children.all(|role| over.contains(&role.name))
        };
        let free: Vec<usize> = (0..roles.len())
            .filter(|at| !roles[*at].is(State::Done) && (hard || !roles[*at].is(State::Undeploying)))
            .filter(|at| is_free(&roles[*at].name))
            .collect();
        if !free.is_empty() {
            self.expected_at = later(now, estate.pace.terminate_ms);
        }
        for position in free {
            self.body.roles[position].state = Some(State::Undeploying);
            self.end_machines(position, estate, hard, now).map_err(|Failed| {
                let name = &self.body.roles[position].name;
                format!("Error undeploying role {name}: Error undeploying nodes for role `{name}`")
            })?;
        }
        Ok(())
    }

    fn end_machines(
        &mut self,
        position: usize,
        estate: &mut Estate,
        hard: bool,
        now: OffsetDateTime,
    ) -> Result<(), Failed> {
        let nodes = self.body.roles[position].nodes().iter();
        let vms: Vec<i32> = nodes.map(|node| node.deploy_id).filter(|vm| !is_ending(estate, *vm)).collect();
        let mut failure = None;
        for vm in vms {
            let ended = estate.terminate_vm(&self.owner, vm, hard, now);
            // What a gentle end does not reach, a hard one may.
            let ended = ended.or_else(|_| estate.terminate_vm(&self.owner, vm, true, now));
            if let Err(refusal) = ended {
                let name = &self.body.roles[position].name;
                let text = refusal.text("one.vm.action");
                failure = Some(format!("Role {name} : Delete failed for VM {vm}; {text}"));
            }
        }
        let Some(why) = failure else { return Ok(()) };
        self.fail_undeploying(position, &why, now);
        Err(Failed)
    }

    fn fail_undeploying(&mut self, position: usize, why: &str, at: OffsetDateTime) {
        self.body.roles[position].state = Some(State::FailedUndeploying);
        self.body.log("E", at.unix_timestamp(), why);
        self.enter(State::FailedUndeploying, at);
    }

    /// The machine runs on, and no role knows it any more.
    fn forget_one_if_scripted(&mut self, estate: &Estate) {
        if estate.mischief.take(Mischief::ForgetsVm, &self.body.name) {
            let last = self.body.roles.iter_mut().rev().find(|role| !role.nodes().is_empty());
            last.and_then(|role| role.nodes_mut().pop());
        }
    }
}

fn is_ending(estate: &Estate, vm: i32) -> bool {
    let state = estate.vm(vm).map(Machine::state);
    matches!(state, None | Some(Vm::Done | Vm::Active(Lcm::Shutdown | Lcm::Epilog | Lcm::CleanupDelete)))
}
