//! One machine: what it is, and whose.

use std::net::Ipv4Addr;

use time::OffsetDateTime;

use super::life::Agenda;
use super::state::{Lcm, State};
use crate::opennebula::release::Release;
use crate::opennebula::template::{TemplateText, Vector};
use crate::opennebula::users::{AuthenticatedUser, Owned, Permissions};

const HOST: &str = "dummy-host-0";

#[derive(Debug)]
pub(crate) struct SimulatedVm {
    pub(crate) id: i32,
    pub(crate) owner: AuthenticatedUser,
    pub(crate) permissions: Permissions,
    pub(crate) name: String,
    pub(crate) template: TemplateText,
    pub(crate) user_template: TemplateText,
    /// The one that it was made in.
    pub(super) release: Release,
    pub(super) state: State,
    pub(super) is_to_resched: bool,
    pub(super) born_at: OffsetDateTime,
    pub(super) ended_at: Option<OffsetDateTime>,
    pub(super) history: Vec<Record>,
    pub(super) agenda: Agenda,
    /// From when on the scheduler says why it waits.
    pub(super) explained_from: Option<OffsetDateTime>,
}

/// One stay on a host; a change of size begins another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record {
    pub(super) started: i64,
    pub(super) ended: i64,
    pub(super) prolog: Span,
    pub(super) running: Span,
    pub(super) epilog: Span,
}

/// Seconds since 1970; 0 means not yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl SimulatedVm {
    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == State::Active(Lcm::Running)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The guest of this machine tells when it is ready.
    pub(crate) fn reports_ready(&self) -> bool {
        let says_yes = |context: &Vector| context.get("REPORT_READY").is_some_and(|value| value == "YES");
        self.template.vectors("CONTEXT").any(says_yes)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.user_template.get("READY") == Some("YES")
    }

    /// Of the first NIC.
    pub(crate) fn address(&self) -> Option<Ipv4Addr> {
        self.addresses().next()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.template.vectors("NIC").filter_map(|nic| nic.get("IP")?.parse().ok())
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.agenda.is_empty() || self.explained_from.is_some()
    }

    /// It was told to end, and may not show it yet.
    pub(crate) fn is_ending(&self) -> bool {
        self.agenda.ends()
    }

    /// The state that decides what can be done with it.
    pub(super) fn state_for_change(&self) -> State {
        match self.state {
            State::Active(Lcm::Running) if self.is_ending() => State::Active(Lcm::Shutdown),
            state => state,
        }
    }

    pub(super) fn deploy_id(&self) -> String {
        format!("{HOST}:{}:dummy", self.name)
    }

    pub(super) fn host() -> &'static str {
        HOST
    }

    pub(super) fn enter(&mut self, state: State, at: OffsetDateTime) {
        self.state = state;
        let second = at.unix_timestamp();
        if state == State::Active(Lcm::Init) {
            self.history.push(Record { started: second, ..Record::default() });
            self.template.set("TM_MAD_SYSTEM", "dummy");
        }
        if state == State::Done {
            self.ended_at = Some(at);
        }
        let Some(record) = self.history.last_mut() else { return };
        match state {
            State::Active(Lcm::Prolog) => record.prolog.start = second,
            State::Active(Lcm::Boot) => {
                record.prolog.end = second;
                record.running = Span { start: second, end: 0 };
            }
            State::Active(Lcm::BootFailure) => record.running.end = second,
            State::Active(Lcm::Epilog) => {
                record.running.end = second;
                record.epilog.start = second;
            }
            State::Active(Lcm::HotplugResize | Lcm::DiskResize) => {
                record.running.end = second;
                record.ended = second;
                let running = Span { start: second, end: 0 };
                self.history.push(Record { started: second, running, ..Record::default() });
            }
            State::Done => {
                record.epilog.end = second;
                record.ended = second;
            }
            _ => {}
        }
    }

    pub(super) fn disk_size(&self, disk: i32) -> Option<u64> {
        self.disk(disk)?.get("SIZE")?.parse().ok()
    }

    pub(super) fn set_disk_size(&mut self, disk: i32, size: &str) {
        let id = disk.to_string();
        let mut disks = self.template.vectors_mut("DISK");
        if let Some(disk) = disks.find(|disk| disk.get("DISK_ID") == Some(&id)) {
            disk.insert("SIZE".into(), size.into());
        }
    }

    fn disk(&self, disk: i32) -> Option<&Vector> {
        let id = disk.to_string();
        self.template.vectors("DISK").find(|disk| disk.get("DISK_ID") == Some(&id))
    }
}

impl Owned for SimulatedVm {
    const OBJECT: &'static str = "VM";

    fn id(&self) -> i32 {
        self.id
    }

    fn owner(&self) -> &AuthenticatedUser {
        &self.owner
    }

    fn permissions(&self) -> Permissions {
        self.permissions
    }
}
