//! What is done to VM templates and machines.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::carry_out::{CANNOT_UPDATE, Counter, appends, parse, pool};
use super::command::OnMachines;
use crate::opennebula::machines::{RESTRICTED, State};
use crate::opennebula::refusal::{ACTION, INTERNAL, Refusal, XML_RPC_API};
use crate::opennebula::release::Release;
use crate::opennebula::template::Template;
use crate::opennebula::users::{Caller, Right};
use crate::opennebula::xmlrpc::Reply;

impl Counter<'_> {
    pub(super) fn on_machines(&mut self, command: OnMachines) -> Result<Reply, Refusal> {
        let Counter { estate, caller, now } = self;
        let id = match command {
            OnMachines::TemplateInfo { id, is_extended } => {
                return Ok(Reply::Text(estate.vm_templates.open(id, caller)?.to_xml(is_extended)));
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
            OnMachines::Pool { range, state, search, is_extended } => {
                refuse_search(&search, estate.release)?;
                if !STATES.contains(&state) {
                    return Err(Refusal::new(XML_RPC_API, "Incorrect filter_flag, state"));
                }
                range.check("Incorrect filter_flag")?;
                let seen =
                    range.of(caller, estate.machines.newest_first().filter(|one| is_in(one.state(), state)));
                return Ok(pool("VM_POOL", seen.into_iter().map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Set { ids, is_extended } => {
                let ids: BTreeSet<i32> = ids.split(',').filter_map(|id| id.trim().parse().ok()).collect();
                let seen =
                    ids.into_iter().rev().filter_map(|id| estate.machines.open(caller, id, Right::Use).ok());
                return Ok(pool("VM_POOL", seen.map(|machine| machine.to_pool_xml(is_extended))));
            }
            OnMachines::Resize { id, template } => {
                estate.resize_vm(caller, id, &parse(&template, estate.release)?, *now)?;
                id
            }
            OnMachines::DiskResize { id, disk, size } => {
                estate.resize_vm_disk(caller, id, disk, &size, *now)?;
                disk
            }
            OnMachines::Update { id, template, mode } => {
                estate.machines.open(caller, id, Right::Manage)?;
                let appends = appends(mode)?;
                let template = user_template(&template, caller, estate.release)?;
                estate.machines.update(caller, id, template, appends)?;
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

/// From -2, which is every state, to the last one.
const STATES: RangeInclusive<i32> = -2..=11;

/// Its database is SQLite, which cannot search.
fn refuse_search(search: &str, release: Release) -> Result<(), Refusal> {
    let what = match release {
        _ if search.is_empty() => return Ok(()),
        Release::Six => "Full text search",
        Release::Seven => "JSON query search",
    };
    Err(Refusal::new(INTERNAL, format!("{what} is not supported by the SQL backend")))
}

/// What a user writes on a machine, and what keeps him from it.
fn user_template(text: &str, caller: &Caller, release: Release) -> Result<Template, Refusal> {
    let template = match (parse(text, release), release) {
        (Err(why), Release::Six) => return Err(why.after(CANNOT_UPDATE)),
        (Err(why), Release::Seven) => return Err(Refusal::new(ACTION, why.message)),
        (Ok(template), _) => template,
    };
    if release == Release::Seven && template.has(RESTRICTED) && !caller.is_admin() {
        let why = format!("{CANNOT_UPDATE} User Template includes a restricted attribute {RESTRICTED}");
        return Err(Refusal::new(INTERNAL, why));
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
