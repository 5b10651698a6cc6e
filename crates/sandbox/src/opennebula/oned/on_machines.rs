//! What is done to VM templates and machines.

use super::carry_out::{Counter, parse, pool};
use super::command::OnMachines;
use crate::opennebula::machines::State;
use crate::opennebula::refusal::Refusal;
use crate::opennebula::users::Right;
use crate::opennebula::xmlrpc::Reply;

impl Counter<'_> {
    pub(super) fn on_machines(&mut self, command: OnMachines) -> Result<Reply, Refusal> {
        let Counter { estate, caller, now } = self;
        let id = match command {
            OnMachines::TemplateInfo(id) => {
                return Ok(Reply::Text(estate.vm_templates.open(id, caller)?.to_xml()));
            }
            OnMachines::Instantiate { template, name, is_held, extra } => {
                let id = estate.instantiate_vm(caller, template, &name, &extra, *now)?;
                if is_held {
                    estate.act_on_vm(caller, id, "hold", *now)?;
                }
                id
            }
            OnMachines::Info(id) => {
                return Ok(Reply::Text(estate.machines.open(caller, id, Right::Use)?.to_xml()));
            }
            OnMachines::Pool { range, state, is_extended } => {
                let seen =
                    range.of(caller, estate.machines.newest_first().filter(|one| is_in(one.state(), state)));
                return Ok(pool("VM_POOL", seen.into_iter().map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Set { ids, is_extended } => {
                let ids = ids.split(',').filter_map(|id| id.trim().parse().ok());
                let seen = ids.filter_map(|id| estate.machines.open(caller, id, Right::Use).ok());
                return Ok(pool("VM_POOL", seen.map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Resize { id, template } => {
                estate.resize_vm(caller, id, &parse(&template)?, *now)?;
                id
            }
            OnMachines::DiskResize { id, disk, size } => {
                estate.resize_vm_disk(caller, id, disk, &size, *now)?;
                disk
            }
            OnMachines::Update { id, template, appends } => {
                estate.machines.update(caller, id, parse(&template)?, appends)?;
                id
            }
            OnMachines::Action { action, id } => {
                estate.act_on_vm(caller, id, &action, *now)?;
                id
            }
            OnMachines::Recover { id, operation } => {
                estate.recover_vm(caller, id, operation, *now)?;
                id
            }
        };
        Ok(Reply::Integer(id))
    }
}

/// -2 is every state, and -1 every state but DONE.
fn is_in(state: State, wanted: i32) -> bool {
    match wanted {
        -2 => true,
        -1 => state != State::Done,
        _ => state.codes().0 == wanted,
    }
}
