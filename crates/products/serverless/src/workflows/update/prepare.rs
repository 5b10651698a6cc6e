//! Compares what is asked for with what there is. What cannot be done is refused before anything is touched.

use opennebula::{AttributeName, NebulaCredentials, Text, Vector, VirtualMachine};

use super::Params;
use super::change::{DesiredPlacement, FromTo, FunctionChange};
use super::recover_machine::on_an_error_state;
use crate::model::contents::{device_info, schedule};
use crate::model::fields::{Amount, BLOCKS};
use crate::model::function::{FunctionRole, FunctionSpec, ObservedFunction};
use crate::model::json::{Json, Members};
use crate::model::runtime::ServerlessRuntime;
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::{Serverless, ServerlessSettings};
use crate::model::spec::Spec;
use crate::model::state::{DONE, RuntimeState};
use crate::model::{labels, view};

/// Finds out what changes. Reads only. The body is looked at last, so that a runtime which does not exist is not found
/// whatever was sent.
pub async fn prepare(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    id: i32,
    body: &[u8],
) -> Result<Params, RuntimeError> {
    let document = view::document(serverless, credentials, id).await?;
    if labels::is_deleting(&document) {
        return Err(RuntimeError::not_found());
    }
    let spec = Spec::parse(body)?;
    check_name(spec.name.as_ref().filter(|name| **name != document.name))?;
    let look = view::look(serverless, credentials, &document).await?;
    let (before, mut runtime) = (ServerlessRuntime::stored(&document)?, look.runtime);
    let blocks = merged(&runtime, &spec);
    let place = place(&blocks, &serverless.settings)?;
    let mut functions = Vec::new();
    for (role, asked) in spec.sent().filter(|(role, _)| runtime.roles().any(|own| own == *role)) {
        let machine = look.machines.get(&role);
        if let Some(machine) = machine.filter(|machine| machine.uid != document.uid) {
            let message = format!("VM {} belongs to another user than document {id}", machine.id);
            return Err(RuntimeError::new(403, "Cannot update Serverless Runtime", message));
        }
        if let Some(why) = gate(&runtime, role, machine)? {
            let recovery = machine.map(|machine| FunctionChange::recovery(role, machine.id, &why));
            let functions = recovery.into_iter().collect();
            let runtime_name = Some(document.name);
            return Ok(Params {
                document: id,
                runtime_name,
                functions,
                reschedule: false,
                body: None,
                name: None,
            });
        }
        if let Some(machine) = machine {
            functions.push(change(role, asked, machine, &place)?);
        }
    }
    functions.retain(|change| !change.is_empty());
    let reschedules = |place: &FromTo<DesiredPlacement>| {
        place.from.rank != place.to.rank || place.from.requirements != place.to.requirements
    };
    let reschedule = functions.iter().filter_map(|change| change.place.as_ref()).any(reschedules);
    for (name, members) in blocks {
        runtime.set_block(name, members);
    }
    after(&mut runtime, &functions);
    let (from, to) = (before.to_document(), runtime.to_document());
    let body = (from != to).then_some(FromTo { from, to });
    let name = spec.name.filter(|name| *name != document.name);
    let runtime_name = Some(name.clone().unwrap_or_else(|| document.name.clone()));
    let name = name.map(|to| FromTo { from: document.name, to });
    Ok(Params { document: id, runtime_name, functions, reschedule, body, name })
}

/// OpenNebula takes these in the name of a new document and not in a new name.
const NOT_IN_A_NEW_NAME: &[char] = &['&', '|', ':', '\\', '"', ';', '/', '\'', '#', '{', '}', '$', '<', '>'];

fn check_name(new: Option<&String>) -> Result<(), RuntimeError> {
    let Some(found) = new.and_then(|name| name.chars().find(|c| NOT_IN_A_NEW_NAME.contains(c))) else {
        return Ok(());
    };
    let message =
        format!("The property '#/SERVERLESS_RUNTIME/NAME' has a {found}: leave it out of a new name");
    Err(RuntimeError::invalid(message))
}

/// Only a VM that runs can be changed. Says why one has to be recovered in place of that.
fn gate(
    runtime: &ServerlessRuntime,
    role: FunctionRole,
    machine: Option<&VirtualMachine>,
) -> Result<Option<String>, RuntimeError> {
    match runtime.state(role) {
        Some(RuntimeState::Running) => Ok(None),
        Some(RuntimeState::Error) => {
            let why = runtime.error(role).unwrap_or_default();
            match machine {
                Some(machine) if machine.state != DONE => Ok(Some(why.to_owned())),
                // Nothing is there that could be recovered.
                _ => Err(RuntimeError::new(500, on_an_error_state(role), why).and(MAKE_A_NEW_ONE)),
            }
        }
        state => {
            let state = state.unwrap_or(RuntimeState::Pending);
            let function = format!("Cannot update Serverless Runtime Function VM {}", role.as_str());
            Err(RuntimeError::new(423, format!("{function} on a transient state"), state.as_str()))
        }
    }
}

const MAKE_A_NEW_ONE: &str = "it cannot be recovered: delete the runtime and create a new one";

/// What of a function is different from what it has. What was not sent stays as it is.
fn change(
    role: FunctionRole,
    asked: &FunctionSpec,
    machine: &VirtualMachine,
    place: &DesiredPlacement,
) -> Result<FunctionChange, RuntimeError> {
    let seen = ObservedFunction::of(machine);
    let differs = |amount: Amount| {
        let (from, to) = (*seen.amounts.get(&amount)?, *asked.amounts.get(&amount)?);
        (from != to).then_some(FromTo { from, to })
    };
    let disk = differs(Amount::DiskSize);
    if let Some(disk) = disk.as_ref().filter(|disk| disk.to < disk.from) {
        let FromTo { from, to } = disk;
        let message = format!(
            "the disk of {} has {from} MB and cannot shrink to {to}: ask for at least as much as it has",
            role.as_str()
        );
        return Err(RuntimeError::new(422, "Failed to resize Serverless Runtime Function VM disk", message));
    }
    let now = DesiredPlacement::of(machine, place);
    let place = (now != *place && !place.is_empty()).then(|| FromTo { from: now, to: place.clone() });
    Ok(FunctionChange {
        role,
        machine: machine.id,
        cpu: differs(Amount::Cpu),
        memory: differs(Amount::Memory),
        disk,
        place,
        recover: None,
    })
}

/// SCHEDULING and `DEVICE_INFO` as they are from now on: what was sent over what was there.
fn merged(runtime: &ServerlessRuntime, spec: &Spec) -> Vec<(&'static str, Members)> {
    let merge = |name: &'static str| {
        let sent = spec.block(name)?;
        let mut members = runtime.block(name).cloned().unwrap_or_default();
        for (name, value) in sent.iter() {
            members.set(name, value.clone());
        }
        Some((name, members))
    };
    BLOCKS.into_iter().filter_map(merge).collect()
}

/// What that means for the VMs.
fn place(
    blocks: &[(&'static str, Members)],
    settings: &ServerlessSettings,
) -> Result<DesiredPlacement, RuntimeError> {
    let mut place = DesiredPlacement::default();
    for (name, members) in blocks {
        if *name == "SCHEDULING" {
            let attribute = |name: &str| -> Result<Option<String>, RuntimeError> {
                let Some(text) = members.get(name).and_then(Json::as_str) else { return Ok(None) };
                let text = schedule(text, settings);
                let fits = Text::from_user(text.as_str()).map(drop);
                let path = format!("#/SERVERLESS_RUNTIME/SCHEDULING/{name}");
                fits.map_err(|why| {
                    RuntimeError::invalid(format!("The property '{path}' cannot be used: {why}"))
                })?;
                Ok(Some(text))
            };
            place.rank = attribute("POLICY")?;
            place.requirements = attribute("REQUIREMENTS")?;
        } else {
            place.device_info = Some(pairs(&device_info(members)?));
        }
    }
    Ok(place)
}

fn pairs(vector: &Vector) -> Vec<(String, String)> {
    let pair = |(name, value): &(AttributeName, Text)| (name.to_string(), value.as_str().to_owned());
    vector.pairs().iter().map(pair).collect()
}

/// The runtime as it will be.
fn after(runtime: &mut ServerlessRuntime, functions: &[FunctionChange]) {
    for change in functions {
        let amounts =
            [(Amount::Cpu, &change.cpu), (Amount::Memory, &change.memory), (Amount::DiskSize, &change.disk)];
        for (amount, changed) in amounts {
            if let Some(changed) = changed {
                runtime.set_amount(change.role, amount, changed.to);
            }
        }
    }
}
