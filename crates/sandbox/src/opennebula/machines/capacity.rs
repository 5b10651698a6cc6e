//! Changing the size of a machine and of its disks.

use time::OffsetDateTime;

use super::life::Turn;
use super::state::{Lcm, State};
use super::{Machines, NebulaError, NebulaRight};
use crate::delays::later;
use crate::opennebula::call_error::{ACTION, AUTHORIZATION, INTERNAL};
use crate::opennebula::delay_times::NebulaDelays;
use crate::opennebula::template::{TemplateText, Vector};
use crate::opennebula::users::AuthenticatedUser;

/// Of the only host: CPU in hundredths, and memory in KiB.
pub(super) const HOST_CPU: f64 = 600.0;
pub(super) const HOST_MEMORY_KIB: u64 = 64 * 1024 * 1024;

/// What a script does to a resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resize {
    Honest,
    DoesNothing,
    OverQuota,
}

/// What is asked for; what is missing or 0 stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct CapacityRequest {
    cpu: Option<f64>,
    vcpu: Option<i64>,
    memory: Option<i64>,
}

impl CapacityRequest {
    fn read(template: &TemplateText) -> Result<Self, NebulaError> {
        let cpu = template.get("CPU").and_then(|text| text.parse::<f64>().ok());
        let whole = |name| template.get(name).and_then(leading_integer);
        let (vcpu, memory) = (whole("VCPU"), whole("MEMORY"));
        let refuse = |why: &str| Err(NebulaError::new(INTERNAL, why));
        if cpu.is_some_and(|cpu| cpu < 0.0) {
            return refuse("CPU must be a positive float or integer value.");
        }
        if vcpu.is_some_and(|vcpu| vcpu < 0) {
            return refuse("VCPU must be a positive integer value.");
        }
        if memory.is_some_and(|memory| memory < 0) {
            return refuse("MEMORY must be a positive integer value.");
        }
        Ok(CapacityRequest {
            cpu: cpu.filter(|cpu| *cpu > 0.0),
            vcpu: vcpu.filter(|vcpu| *vcpu > 0),
            memory: memory.filter(|memory| *memory > 0),
        })
    }

    /// The new text of each attribute that changes.
    fn changes(self, template: &TemplateText) -> Vector {
        let wanted = [
            ("CPU", self.cpu.map(|cpu| cpu.to_string())),
            ("VCPU", self.vcpu.map(|vcpu| vcpu.to_string())),
            ("MEMORY", self.memory.map(|memory| memory.to_string())),
        ];
        let changed = |(name, text): (&str, Option<String>)| {
            text.filter(|text| template.get(name) != Some(text)).map(|text| (name.to_owned(), text))
        };
        wanted.into_iter().filter_map(changed).collect()
    }

    fn require_room(self) -> Result<(), NebulaError> {
        if let Some(cpu) = self.cpu.map(|cpu| cpu * 100.0).filter(|cpu| *cpu > HOST_CPU) {
            return Err(NebulaError::new(ACTION, format!("Not enough CPU: {cpu}/{HOST_CPU}")));
        }
        let memory =
            self.memory.and_then(|memory| u64::try_from(memory).ok()).map(|mb| mb.saturating_mul(1024));
        if let Some(memory) = memory.filter(|memory| *memory > HOST_MEMORY_KIB) {
            return Err(NebulaError::new(ACTION, format!("Not enough memory: {memory}/{HOST_MEMORY_KIB}")));
        }
        Ok(())
    }
}

/// As C++ reads a number: what follows the digits does not matter.
fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + end].parse().ok()
}

impl Machines {
    pub(crate) fn resize(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        template: &TemplateText,
        script: impl FnOnce(&str) -> Resize,
        delay_times: &NebulaDelays,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let wanted = CapacityRequest::read(template)?;
        let machine = self.change(caller, id, NebulaRight::Manage)?;
        let is_live = match machine.state_for_change() {
            State::Active(Lcm::Running) => true,
            State::Pending | State::Hold | State::PowerOff => false,
            state => {
                let why = format!("Cannot resize a VM in state {}", state.name());
                return Err(NebulaError::new(ACTION, why));
            }
        };
        let changes = wanted.changes(&machine.template);
        if is_live && changes.is_empty() {
            return Ok(());
        }
        wanted.require_room()?;
        let script = script(&machine.name);
        if script == Resize::OverQuota {
            let uid = caller.uid;
            let why = format!("User [{uid}] : user [{uid}] limit of 1 reached for CPU quota in VM.");
            return Err(NebulaError::new(AUTHORIZATION, why));
        }
        let value = |name: &str| Some((name.to_owned(), machine.template.get(name)?.to_owned()));
        let old: Vector = ["CPU", "MEMORY", "VCPU"].into_iter().filter_map(value).collect();
        for (name, text) in changes {
            machine.template.set(&name, text);
        }
        if is_live {
            machine.is_to_resched = false;
            machine.template.set_vector("RESIZE", old.clone());
            machine.enter(State::Active(Lcm::HotplugResize), at);
            let undo = (script == Resize::DoesNothing).then_some(old);
            machine.agenda.add(later(at, delay_times.resize_ms), Turn::EndResize { undo });
        }
        Ok(())
    }

    pub(crate) fn resize_disk(
        &mut self,
        caller: &AuthenticatedUser,
        id: i32,
        (disk, size): (i32, &str),
        lasts_ms: u64,
        at: OffsetDateTime,
    ) -> Result<(), NebulaError> {
        let refuse = |why: String| Err(NebulaError::new(ACTION, why));
        let Ok(wanted) = size.parse::<i64>() else {
            return refuse("Disk SIZE is not a valid integer".into());
        };
        let machine = self.change(caller, id, NebulaRight::Manage)?;
        let Some(current) = machine.disk_size(disk) else {
            return refuse("VM disk does not exist".into());
        };
        if !u64::try_from(wanted).is_ok_and(|wanted| wanted > current) {
            return refuse("New disk size has to be greater than current one".into());
        }
        let is_live = match machine.state_for_change() {
            State::Active(Lcm::Running) => true,
            State::PowerOff => false,
            state => {
                return refuse(format!("Could not resize disk for VM {id}, wrong state {}.", state.name()));
            }
        };
        machine.set_disk_size(disk, size);
        if is_live {
            machine.enter(State::Active(Lcm::DiskResize), at);
            machine.agenda.add(later(at, lasts_ms), Turn::Enter(State::Active(Lcm::Running)));
        }
        Ok(())
    }
}
