//! The world of OpenNebula: users, documents and machines behind one lock.
//!
//! Both listeners work on it: oned speaks XML-RPC about it, and OneFlow makes services out of it. Time
//! passes without any client watching: every look at it first lets the machines live on until now.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;

use super::call_error::{INTERNAL, NebulaError};
use super::delay_times::NebulaDelays;
use super::documents::{Documents, SERVICE, SERVICE_TEMPLATE};
use super::faults::{NebulaFault, NebulaFaults};
use super::machines::{Machines, NewMachine, Resize, SimulatedVm, StartOutcome};
use super::release::Release;
use super::template::TemplateText;
use super::template_text;
use super::users::{AuthenticatedUser, NebulaRight, Permissions, Users};
use super::vm_templates::VmTemplates;
use crate::clock::Clock;
use crate::ledger::{Effect, Ledger, LedgerSystem};
use crate::loopback::Network;

const DOCUMENT: Effect = Effect { system: LedgerSystem::Oned, kind: "document" };
const VM: Effect = Effect { system: LedgerSystem::Oned, kind: "vm" };

/// The shared handle to the world.
#[derive(Debug)]
pub(crate) struct Nebula {
    clock: Arc<Clock>,
    pub(crate) faults: Arc<NebulaFaults>,
    nebula_state: Mutex<NebulaState>,
}

impl Nebula {
    /// Machines get their addresses from the network.
    pub(super) fn new(clock: Arc<Clock>, ledger: Arc<Ledger>, network: Arc<Network>) -> Self {
        let faults = Arc::<NebulaFaults>::default();
        let nebula_state = NebulaState {
            users: Users::new(),
            documents: Documents::default(),
            vm_templates: VmTemplates::fixtures(clock.now()),
            machines: Machines::new(network),
            delay_times: NebulaDelays::default(),
            release: Release::default(),
            requests: 0,
            faults: Arc::clone(&faults),
            ledger,
        };
        Nebula { clock, faults, nebula_state: Mutex::new(nebula_state) }
    }

    pub(crate) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The world as it is now. Nothing may wait while it is held.
    pub(crate) fn nebula_state(&self) -> MutexGuard<'_, NebulaState> {
        // Plain data, and each change is made in one go, so a panic elsewhere leaves nothing half done.
        let mut nebula_state = self.nebula_state.lock().unwrap_or_else(PoisonError::into_inner);
        nebula_state.settle(self.now());
        nebula_state
    }
}

/// All that OpenNebula knows.
#[derive(Debug)]
pub(crate) struct NebulaState {
    pub(crate) users: Users,
    pub(crate) documents: Documents,
    pub(super) vm_templates: VmTemplates,
    pub(super) machines: Machines,
    pub(crate) delay_times: NebulaDelays,
    pub(crate) release: Release,
    /// How many calls oned has had.
    pub(super) requests: i32,
    pub(super) faults: Arc<NebulaFaults>,
    ledger: Arc<Ledger>,
}

impl NebulaState {
    /// Lets every machine live on until then.
    pub(crate) fn settle(&mut self, now: OffsetDateTime) {
        for id in self.machines.settle(now) {
            self.ledger.take_back(VM, &id.to_string());
        }
    }

    /// Adds a document for a call. OneFlow keeps the ledger of its own kinds.
    pub(crate) fn allocate_document(
        &mut self,
        caller: &AuthenticatedUser,
        mut template: TemplateText,
        kind: i32,
    ) -> Result<i32, NebulaError> {
        let name = template.get("NAME").map(str::to_owned);
        template.remove("NAME");
        let owner = caller.clone();
        let id = self.documents.add(owner, Permissions::PRIVATE, name.as_deref(), kind, template)?;
        if !is_of_oneflow(kind) {
            self.ledger.make(DOCUMENT, &id.to_string(), "");
        }
        Ok(id)
    }

    pub(crate) fn delete_document(&mut self, caller: &AuthenticatedUser, id: i32) -> Result<(), NebulaError> {
        let kind = self.documents.open(id, caller, NebulaRight::Manage)?.kind;
        self.documents.remove(id);
        if !is_of_oneflow(kind) {
            self.ledger.take_back(DOCUMENT, &id.to_string());
        }
        Ok(())
    }

    /// Makes a machine out of a VM template and an extra template in text or XML.
    ///
    /// `at` is when it begins to live: now for a call, and the moment that has passed for a service that is
    /// settled later.
    pub(crate) fn instantiate_vm(
        &mut self,
        caller: &AuthenticatedUser,
        vm_template: i32,
        name: &str,
        extra: &str,
        at: OffsetDateTime,
    ) -> Result<i32, NebulaError> {
        let vm_template = self.vm_templates.open(vm_template, caller)?;
        let extra =
            template_text::parse(extra, self.release).map_err(|why| NebulaError::new(INTERNAL, why))?;
        let new_machine = NewMachine {
            owner: caller.clone(),
            name: name.to_owned(),
            template: vm_template.template.clone(),
            template_id: vm_template.id,
            extra,
            never_runs: self.faults.hits(NebulaFault::NeverRuns, name),
            boot_fails: vm_template.boot_fails || self.faults.hits(NebulaFault::BootFails, name),
            has_onegate: !self.faults.hits(NebulaFault::NoOnegate, name),
            release: self.release,
        };
        let id = self.machines.bear(new_machine, &self.delay_times, at)?;
        self.ledger.make(VM, &id.to_string(), "");
        Ok(id)
    }

    pub(crate) fn vm(&self, id: i32) -> Option<&SimulatedVm> {
        self.machines.get(id)
    }

    /// All that have not ended.
    pub(crate) fn vms(&self) -> impl Iterator<Item = &SimulatedVm> {
        self.machines.living()
    }

    /// Ends a machine as `one.vm.action` does. A machine that boots cannot be ended.
    pub(crate) fn terminate_vm(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        hard: bool,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let action = if hard { "terminate-hard" } else { "terminate" };
        self.act_on_vm(caller, id, action, at)
    }

    pub(crate) fn act_on_vm(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        action: &str,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        self.machines.act(caller, id, action, &self.delay_times, at)?;
        // A machine that never ran is gone at once.
        self.settle(at);
        Ok(())
    }
}

impl NebulaState {
    pub(super) fn resize_vm(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        template: &TemplateText,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let script = |name: &str| scripted(&self.faults, name);
        self.machines.resize(caller, id, template, script, &self.delay_times, at)
    }

    pub(super) fn resize_vm_disk(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        disk: i32,
        size: &str,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let lasts_ms = self.delay_times.disk_resize_ms;
        self.machines.resize_disk(caller, id, (disk, size), lasts_ms, at)
    }

    pub(super) fn recover_vm(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        operation: i32,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let fails = |name: &str| self.faults.hits(NebulaFault::BootFails, name);
        let outcome = |name: &str| if fails(name) { StartOutcome::FailsToBoot } else { StartOutcome::Runs };
        self.machines.recover(caller, id, operation, outcome, &self.delay_times, at)?;
        self.settle(at);
        Ok(())
    }
}

fn scripted(faults: &NebulaFaults, name: &str) -> Resize {
    if faults.hits(NebulaFault::ResizeRefusedQuota, name) {
        return Resize::OverQuota;
    }
    if faults.hits(NebulaFault::ResizeDoesNothing, name) { Resize::DoesNothing } else { Resize::Honest }
}

fn is_of_oneflow(kind: i32) -> bool {
    matches!(kind, SERVICE | SERVICE_TEMPLATE)
}
