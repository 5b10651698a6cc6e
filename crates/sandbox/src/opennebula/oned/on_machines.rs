//! What is done to VM templates and machines.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::carry_out::{CANNOT_UPDATE, OnedSession, appends, parse, pool};
use super::command::OnMachines;
use crate::opennebula::call_error::{ACTION, INTERNAL, NebulaError, XML_RPC_API};
use crate::opennebula::machines::{RESTRICTED, State};
use crate::opennebula::release::Release;
use crate::opennebula::template::TemplateText;
use crate::opennebula::users::{AuthenticatedUser, NebulaRight};
use crate::opennebula::xmlrpc::XmlRpcReply;

impl OnedSession<'_> {
    pub(super) fn on_machines(&mut self, command: OnMachines) -> Result<XmlRpcReply, NebulaError> {
        let OnedSession { nebula_state, caller, now } = self;
        let id = match command {
            OnMachines::TemplateInfo { id, is_extended } => {
                return Ok(XmlRpcReply::Text(
                    nebula_state.vm_templates.open(id, caller)?.to_xml(is_extended),
                ));
            }
            OnMachines::Instantiate { template, name, is_held, extra } => {
                let id = nebula_state.instantiate_vm(caller, template, &name, &extra, *now)?;
                if is_held {
                    nebula_state.act_on_vm(caller, id, "hold", *now)?;
                }
                id
            }
            OnMachines::Info(id) => {
                return Ok(XmlRpcReply::Text(
                    nebula_state.machines.open(caller, id, NebulaRight::Use)?.to_xml(),
                ));
            }
            OnMachines::Pool { range, state, search, is_extended } => {
                refuse_search(&search, nebula_state.release)?;
                if !STATES.contains(&state) {
                    return Err(NebulaError::new(XML_RPC_API, "Incorrect filter_flag, state"));
                }
                range.check("Incorrect filter_flag")?;
                let seen = range
                    .of(caller, nebula_state.machines.newest_first().filter(|one| is_in(one.state(), state)));
                return Ok(pool("VM_POOL", seen.into_iter().map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Set { ids, is_extended } => {
                let ids: BTreeSet<i32> = ids.split(',').filter_map(|id| id.trim().parse().ok()).collect();
                let seen = ids
                    .into_iter()
                    .rev()
                    .filter_map(|id| nebula_state.machines.open(caller, id, NebulaRight::Use).ok());
                return Ok(pool("VM_POOL", seen.map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Resize { id, template } => {
                nebula_state.resize_vm(caller, id, &parse(&template, nebula_state.release)?, *now)?;
                id
            }
            OnMachines::DiskResize { id, disk, size } => {
                nebula_state.resize_vm_disk(caller, id, disk, &size, *now)?;
                disk
            }
            OnMachines::Update { id, template, mode } => {
                nebula_state.machines.open(caller, id, NebulaRight::Manage)?;
                let appends = appends(mode)?;
                let template = user_template(&template, caller, nebula_state.release)?;
                nebula_state.machines.update(caller, id, template, appends)?;
                id
            }
            OnMachines::Action { action, id } => {
                nebula_state.act_on_vm(caller, id, &action, *now)?;
                id
            }
            OnMachines::Recover { id, operation } => {
                nebula_state.recover_vm(caller, id, operation, *now)?;
                id
            }
        };
        Ok(XmlRpcReply::Integer(id))
    }
}

/// From -2, which is every state, to the last one.
const STATES: RangeInclusive<i32> = -2..=11;

/// Its database is SQLite, which cannot search.
fn refuse_search(search: &str, release: Release) -> Result<(), NebulaError> {
    let what = match release {
        _ if search.is_empty() => return Ok(()),
        Release::Six => "Full text search",
        Release::Seven => "JSON query search",
    };
    Err(NebulaError::new(INTERNAL, format!("{what} is not supported by the SQL backend")))
}

/// What a user writes on a machine, and what keeps him from it.
fn user_template(
    text: &str,
    caller: &AuthenticatedUser,
    release: Release,
) -> Result<TemplateText, NebulaError> {
    let template = match (parse(text, release), release) {
        (Err(why), Release::Six) => return Err(why.after(CANNOT_UPDATE)),
        (Err(why), Release::Seven) => return Err(NebulaError::new(ACTION, why.message)),
        (Ok(template), _) => template,
    };
    if release == Release::Seven && template.has(RESTRICTED) && !caller.is_admin() {
        let why = format!("{CANNOT_UPDATE} User Template includes a restricted attribute {RESTRICTED}");
        return Err(NebulaError::new(INTERNAL, why));
    }
    Ok(template)
}

/// -2 is every state, and -1 every state but DONE.
fn is_in(state: State, wanted: i32) -> bool {
    match wanted {
        -2 => true,
        -1 => state != State::Done,
        _ => state.codes().0 == wanted,
    }
}
