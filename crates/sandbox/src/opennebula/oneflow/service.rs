//! A service: how it is deployed, what it makes of its machines, and what it says about them.
//!
//! Like everything here it lives by the clock of the sandbox, and catches up when a user looks.

use serde_json::json;
use time::OffsetDateTime;

use super::body::{FlowBody, FlowNode, FlowRole};
use super::contents::{self, Terms};
use super::state::State;
use crate::delays::later;
use crate::opennebula::delay_times::NebulaDelays;
use crate::opennebula::faults::NebulaFault;
use crate::opennebula::machines::{Lcm, SimulatedVm, State as Vm};
use crate::opennebula::template::TemplateText;
use crate::opennebula::users::AuthenticatedUser;
use crate::opennebula::world::NebulaState;

/// OneFlow's own default.
const COOLDOWN_S: u32 = 300;

#[derive(Debug)]
pub(super) struct Service {
    pub(super) id: i32,
    pub(super) owner: AuthenticatedUser,
    pub(super) body: FlowBody,
    /// When the present state ends by itself.
    pub(super) until: Option<OffsetDateTime>,
    /// When its machines should be done with what they are at. If a user looks much later, that is when
    /// the next thing happened, and not at the time of the look.
    pub(super) expected_at: OffsetDateTime,
    pub(super) outcome: ServiceEnd,
    /// Nothing is left of it but, perhaps, its machines.
    pub(super) is_gone: bool,
}

/// The faults that were meant for this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceEnd {
    Fair,
    NoNodes,
    FailsLater,
    UndeployFails,
}

impl Service {
    pub(super) fn new(id: i32, owner: AuthenticatedUser, mut body: FlowBody, now: OffsetDateTime) -> Self {
        body.state = Some(State::Pending);
        body.start_time = Some(now.unix_timestamp());
        for role in &mut body.roles {
            role.state = Some(State::Pending);
        }
        Service { id, owner, body, until: None, expected_at: now, outcome: ServiceEnd::Fair, is_gone: false }
    }

    pub(super) fn state(&self) -> State {
        self.body.state.unwrap_or(State::Pending)
    }

    /// Goes on after the caller has his answer.
    pub(super) fn begin(&mut self, nebula_state: &NebulaState, now: OffsetDateTime) {
        for role in &mut self.body.roles {
            role.cooldown = Some(COOLDOWN_S);
            role.nodes = Some(Vec::new());
            role.on_hold = Some(false);
        }
        self.enter(State::DeployingNets, now);
        let is_meant = |kind| nebula_state.faults.hits(kind, &self.body.name);
        let is_delayed = is_meant(NebulaFault::DelayedNodes);
        let nets_ms = if is_delayed {
            nebula_state.delay_times.delayed_nodes_ms
        } else {
            nebula_state.delay_times.nets_ms
        };
        self.until = Some(later(now, nets_ms));
        if is_meant(NebulaFault::FailsDeployingNow) {
            let why = instantiate_failed(
                &self.body.roles[0],
                "[one.template.instantiate] Error allocating a new virtual machine template. Cannot get IP/MAC lease \
                 from virtual network 0.",
            );
            self.fail_deploying(0, &why, now);
        } else if is_meant(NebulaFault::NoNodes) {
            self.outcome = ServiceEnd::NoNodes;
        } else if is_meant(NebulaFault::FailsDeployingLater) {
            self.outcome = ServiceEnd::FailsLater;
        }
    }

    /// Makes every move whose time has come. Answers whether there was one.
    pub(super) fn settle(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        let mut has_moved = false;
        while !self.is_gone && self.advance(nebula_state, now) {
            has_moved = true;
            nebula_state.settle(now);
        }
        has_moved
    }

    fn advance(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        match self.state() {
            State::DeployingNets => self.leave_nets(nebula_state, now),
            State::Deploying => self.deploy_on(nebula_state, now),
            State::Running | State::Warning => self.watch(nebula_state, now),
            State::Scaling => self.scale_on(nebula_state, now),
            State::Cooldown => self.cool_down(now),
            State::Undeploying => self.undeploy_on(nebula_state, now),
            State::UndeployingNets => {
                self.is_gone = self.due(now).is_some();
                self.is_gone
            }
            State::Pending
            | State::Done
            | State::FailedUndeploying
            | State::FailedDeploying
            | State::FailedScaling => false,
        }
    }

    /// The moment at which the present state ended, if that has passed.
    pub(super) fn due(&self, now: OffsetDateTime) -> Option<OffsetDateTime> {
        self.until.filter(|until| *until <= now)
    }

    /// When the machines got where they are, as far as any client can tell.
    pub(super) fn moment(&self, now: OffsetDateTime) -> OffsetDateTime {
        self.expected_at.min(now)
    }

    pub(super) fn enter(&mut self, state: State, at: OffsetDateTime) {
        self.body.state = Some(state);
        self.until = None;
        self.body.log("I", at.unix_timestamp(), format!("New state: {}", state.name()));
    }

    /// Its document is gone then, and its machines are not.
    pub(super) fn vanish_if_scripted(&mut self, nebula_state: &NebulaState) {
        let name = nebula_state.documents.get(self.id).map_or("", |document| document.name.as_str());
        self.is_gone |= nebula_state.faults.hits(NebulaFault::ServiceVanishes, name);
    }

    fn leave_nets(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        let Some(at) = self.due(now).filter(|_| self.outcome != ServiceEnd::NoNodes) else { return false };
        if self.deploy_roles(nebula_state, at).is_err() {
            return true;
        }
        self.enter(State::Deploying, at);
        if self.outcome == ServiceEnd::FailsLater {
            self.until = Some(self.expected_at);
        }
        true
    }

    fn deploy_on(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        if let (ServiceEnd::FailsLater, Some(at)) = (self.outcome, self.due(now)) {
            let why = format!("Role {} : a machine did not come up", self.body.roles[0].name);
            self.fail_deploying(0, &why, at);
            return true;
        }
        let at = self.moment(now);
        let (gate, mut has_moved) = (self.body.ready_status_gate == Some(true), false);
        for role in self.body.roles.iter_mut().filter(|role| role.is(State::Deploying)) {
            if all_run(role, nebula_state, gate) {
                role.state = Some(State::Running);
                has_moved = true;
            }
        }
        match self.deploy_roles(nebula_state, at) {
            Ok(has_deployed) => has_moved |= has_deployed,
            Err(Failed) => return true,
        }
        if self.outcome != ServiceEnd::FailsLater
            && self.body.roles.iter().all(|role| role.is(State::Running))
        {
            self.enter(State::Running, at);
            has_moved = true;
        }
        has_moved
    }

    /// Deploys the roles that nothing holds back. In a straight deployment parents run first.
    fn deploy_roles(&mut self, nebula_state: &mut NebulaState, at: OffsetDateTime) -> Result<bool, Failed> {
        let is_straight = self.body.deployment == "straight";
        let runs: Vec<String> = self.names_in(State::Running);
        let is_free = |role: &FlowRole| !is_straight || role.parents.iter().all(|name| runs.contains(name));
        let free: Vec<usize> = (0..self.body.roles.len())
            .filter(|at| self.body.roles[*at].is(State::Pending) && is_free(&self.body.roles[*at]))
            .collect();
        if !free.is_empty() {
            let NebulaDelays { prolog_ms, boot_ms, .. } = nebula_state.delay_times;
            self.expected_at =
                later(at, nebula_state.delay_times.pending_in(nebula_state.release) + prolog_ms + boot_ms);
        }
        for position in &free {
            self.body.roles[*position].state = Some(State::Deploying);
            if let Err(why) = self.fill(*position, nebula_state, at) {
                self.fail_deploying(*position, &why, at);
                return Err(Failed);
            }
        }
        Ok(!free.is_empty())
    }

    /// Makes the machines that a role has too few of.
    pub(super) fn fill(
        &mut self,
        position: usize,
        nebula_state: &mut NebulaState,
        at: OffsetDateTime,
    ) -> Result<(), String> {
        let values = contents::values(&self.body);
        loop {
            let role = &self.body.roles[position];
            if role.nodes().len() >= role.cardinality as usize {
                return Ok(());
            }
            let template = role.template();
            let missing = TemplateText::default();
            let known = nebula_state.vm_templates.open(template, &self.owner);
            let known = known.map_or(&missing, |known| &known.template);
            let of_role = |name: &str, path: &str| self.said_by(nebula_state, name, path);
            let terms = Terms { service: self.id, values: &values, of_role: &of_role };
            let text = contents::text(role, known, &terms, nebula_state.release);
            let number = role.last_vmname.unwrap_or(0);
            let name = format!("{}_{number}_(service_{})", role.name, self.id);
            let made = nebula_state.instantiate_vm(&self.owner, template, &name, &text, at);
            let role = &mut self.body.roles[position];
            role.last_vmname = Some(number + 1);
            let vm = made.map_err(|call_error| {
                instantiate_failed(role, &call_error.text("one.template.instantiate"))
            })?;
            let node =
                FlowNode { deploy_id: vm, vm_info: nebula_state.vm(vm).map(summary).unwrap_or_default() };
            role.nodes_mut().push(node);
        }
    }

    /// What the first machine of a role has at a path like `TEMPLATE.NIC.IP`.
    fn said_by(&self, nebula_state: &NebulaState, role: &str, path: &str) -> Option<String> {
        let role = self.body.roles.iter().find(|known| known.name == role)?;
        let machine = nebula_state.vm(role.nodes().first()?.deploy_id)?;
        let mut words = path.split('.');
        let template = match words.next()? {
            "NAME" => return Some(machine.name.clone()),
            "ID" => return Some(machine.id.to_string()),
            "TEMPLATE" => &machine.template,
            "USER_TEMPLATE" => &machine.user_template,
            _ => return None,
        };
        let name = words.next()?;
        match words.next() {
            None => template.get(name).map(str::to_owned),
            Some(key) => template.vectors(name).find_map(|vector| vector.get(key)).cloned(),
        }
    }

    pub(super) fn fail_deploying(&mut self, position: usize, why: &str, at: OffsetDateTime) {
        self.body.roles[position].state = Some(State::FailedDeploying);
        self.body.log("E", at.unix_timestamp(), why);
        self.enter(State::FailedDeploying, at);
    }

    /// Machines that ended behind its back are no longer its own; others only worry it.
    fn watch(&mut self, nebula_state: &mut NebulaState, now: OffsetDateTime) -> bool {
        let mut has_moved = false;
        for role in &mut self.body.roles {
            let before = role.nodes().len();
            drop_ended(role, nebula_state);
            if role.nodes().len() < before {
                role.cardinality = u32::try_from(role.nodes().len()).unwrap_or(u32::MAX);
                has_moved = true;
            }
            let is_well =
                role.nodes().iter().all(|node| nebula_state.vm(node.deploy_id).is_some_and(is_well));
            let state = if is_well { State::Running } else { State::Warning };
            has_moved |= !role.is(state);
            role.state = Some(state);
        }
        let is_well = self.body.roles.iter().all(|role| role.is(State::Running));
        let state = if is_well { State::Running } else { State::Warning };
        if self.state() != state {
            self.enter(state, now);
        }
        has_moved
    }

    pub(super) fn names_in(&self, state: State) -> Vec<String> {
        self.body.roles.iter().filter(|role| role.is(state)).map(|role| role.name.clone()).collect()
    }
}

/// A step that failed and has said so in the service's own log.
pub(super) struct Failed;

fn instantiate_failed(role: &FlowRole, why: &str) -> String {
    format!("Role {} : Instantiate failed for template {}; {why}", role.name, role.template())
}

pub(super) fn all_run(role: &FlowRole, nebula_state: &NebulaState, gate: bool) -> bool {
    role.nodes().iter().all(|node| {
        nebula_state
            .vm(node.deploy_id)
            .is_some_and(|machine| machine.is_running() && (!gate || machine.is_ready()))
    })
}

pub(super) fn drop_ended(role: &mut FlowRole, nebula_state: &NebulaState) {
    role.nodes_mut().retain(|node| nebula_state.vm(node.deploy_id).is_some_and(|machine| !machine.is_done()));
}

/// Active, and its boot did not fail.
fn is_well(machine: &SimulatedVm) -> bool {
    matches!(machine.state(), Vm::Active(lcm) if lcm != Lcm::BootFailure)
}

fn summary(machine: &SimulatedVm) -> serde_json::Value {
    let owner = &machine.owner;
    json!({"VM": {
        "ID": machine.id.to_string(),
        "UID": owner.uid.to_string(),
        "GID": owner.gid.to_string(),
        "UNAME": owner.name,
        "GNAME": owner.group,
        "NAME": machine.name,
    }})
}
