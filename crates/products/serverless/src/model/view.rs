//! Runtimes as they are now: the document, its service and its VMs. Reading writes nothing.

use std::collections::BTreeMap;

use opennebula::{
    DocumentFilter, DocumentPage, FlowService, NebulaCredentials, NebulaDocument, NebulaError,
    NebulaErrorKind as Kind, RUNTIME_DOCUMENT, VirtualMachine,
};

use super::function::{FunctionRole, ObservedFunction};
use super::labels;
use super::runtime::ServerlessRuntime;
use super::runtime_error::RuntimeError;
use super::settings::Serverless;
use super::state::RuntimeState;

pub async fn read(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    id: i32,
) -> Result<ServerlessRuntime, RuntimeError> {
    let document = document(serverless, credentials, id).await?;
    if labels::is_deleting(&document) {
        return Err(RuntimeError::not_found());
    }
    look(serverless, credentials, &document).await.map(|look| look.runtime)
}

/// The document of a runtime, also of one that is being removed.
pub(crate) async fn document(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    id: i32,
) -> Result<NebulaDocument, RuntimeError> {
    match serverless.nebula.document(credentials, id).await {
        Ok(document) if document.kind == RUNTIME_DOCUMENT => Ok(document),
        Ok(_) => Err(RuntimeError::not_found()),
        Err(error) if error.is(Kind::NotFound) => Err(RuntimeError::not_found()),
        Err(error) => Err(RuntimeError::of("Failed to read Serverless Runtime Document", &error)),
    }
}

/// A runtime and the VMs that stand for its functions.
pub(crate) struct ObservedRuntime {
    pub(crate) runtime: ServerlessRuntime,
    pub(crate) machines: BTreeMap<FunctionRole, VirtualMachine>,
}

pub(crate) async fn look(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    document: &NebulaDocument,
) -> Result<ObservedRuntime, RuntimeError> {
    let mut runtime = ServerlessRuntime::stored(document)?;
    let stored = stored_machines(&runtime);
    // Both are asked at the same time: what is stored is nearly always right.
    let (service, known) =
        tokio::join!(service(serverless, credentials, &runtime), machines(serverless, credentials, &stored));
    let (service, mut known) = (service?, known?);
    let current = current_machines(&runtime, &service, &stored);
    let unknown: BTreeMap<FunctionRole, i32> = current
        .iter()
        .filter(|(role, id)| stored.get(role) != Some(id))
        .map(|(role, id)| (*role, *id))
        .collect();
    known.retain(|machine| current.values().any(|id| *id == machine.id));
    known.extend(machines(serverless, credentials, &unknown).await?);
    let mut by_role = BTreeMap::new();
    let roles: Vec<FunctionRole> = runtime.roles().collect();
    for role in roles {
        let id = current.get(&role).copied();
        let machine = id.and_then(|id| known.iter().find(|machine| machine.id == id));
        runtime.show(role, &seen(role, id, machine, &service));
        by_role.extend(machine.map(|machine| (role, machine.clone())));
    }
    Ok(ObservedRuntime { runtime, machines: by_role })
}

/// What OneFlow knows of a runtime.
enum Served {
    /// The runtime is still being made.
    NotYet,
    By(FlowService),
    /// A client removed the service behind our back.
    Vanished(i32),
}

async fn service(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    runtime: &ServerlessRuntime,
) -> Result<Served, RuntimeError> {
    let Some(id) = runtime.service_id() else { return Ok(Served::NotYet) };
    match serverless.nebula.service(credentials, id).await {
        Ok(service) => Ok(Served::By(service)),
        Err(error) if error.is(Kind::NotFound) => Ok(Served::Vanished(id)),
        Err(error) => {
            Err(RuntimeError::of(format!("Failed to read Serverless Runtime Service {id}"), &error))
        }
    }
}

async fn machines(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    ids: &BTreeMap<FunctionRole, i32>,
) -> Result<Vec<VirtualMachine>, RuntimeError> {
    let ids: Vec<i32> = ids.values().copied().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    serverless.nebula.machines(credentials, &ids).await.map_err(|error| unreadable(&error))
}

fn unreadable(error: &NebulaError) -> RuntimeError {
    RuntimeError::of("Failed to read the VMs of the Serverless Runtime", error)
}

fn stored_machines(runtime: &ServerlessRuntime) -> BTreeMap<FunctionRole, i32> {
    runtime.roles().filter_map(|role| Some((role, runtime.vm_id(role)?))).collect()
}

/// The first node of every role; what is stored where its role has none.
fn current_machines(
    runtime: &ServerlessRuntime,
    service: &Served,
    stored: &BTreeMap<FunctionRole, i32>,
) -> BTreeMap<FunctionRole, i32> {
    let node = |role: FunctionRole| match service {
        Served::By(service) => first_node(service, role),
        _ => None,
    };
    runtime
        .roles()
        .filter_map(|role| Some((role, node(role).or_else(|| stored.get(&role).copied())?)))
        .collect()
}

pub(crate) fn first_node(service: &FlowService, role: FunctionRole) -> Option<i32> {
    service.roles.iter().find(|own| own.name == role.as_str())?.nodes.first().copied()
}

fn seen(
    role: FunctionRole,
    id: Option<i32>,
    machine: Option<&VirtualMachine>,
    service: &Served,
) -> ObservedFunction {
    let mut seen = match (machine, id) {
        (Some(machine), _) => ObservedFunction::of(machine),
        (None, Some(id)) => {
            let why = format!("VM {id} does not exist any longer");
            ObservedFunction::without_machine(Some(id), RuntimeState::Error, Some(why))
        }
        (None, None) => ObservedFunction::without_machine(None, RuntimeState::Pending, None),
    };
    match service {
        Served::Vanished(service) => {
            seen.state = RuntimeState::Error;
            seen.error = Some(format!("Service {service} does not exist any longer: delete the runtime"));
        }
        // Without a VM there is nothing else that could tell of the failure.
        Served::By(service) if machine.is_none() && service.has_failed() => {
            seen.state = RuntimeState::Error;
            let service_id = service.id;
            let state = service.state_name();
            seen.error = Some(format!("Service {service_id} has no VM for {}: {state}", role.as_str()));
        }
        Served::By(_) | Served::NotYet => {}
    }
    seen
}

/// Which runtimes, and how many.
#[derive(Debug, Clone, Default)]
pub struct RuntimeQuery {
    /// The flavours in one word.
    pub flavour: Option<String>,
    /// Of the function FAAS.
    pub state: Option<RuntimeState>,
    pub name: Option<String>,
    /// All that the caller may see, and not only the caller's own.
    pub all: bool,
    pub offset: u32,
    pub limit: u32,
}

/// So many documents are asked for at once.
const PAGE: u32 = 200;
/// So many are looked through for a page of those that fit.
const LOOKED_THROUGH_MAX: u32 = 10_000;

/// A page of runtimes. It may be shorter than was asked for and not be the last one.
#[derive(Debug, Default)]
pub struct RuntimePage {
    pub runtimes: Vec<ServerlessRuntime>,
    /// Where the next page begins, if there may be one.
    pub next_offset: Option<u32>,
}

/// A page of runtimes in the order of OpenNebula, the newest first. The states are those of the VMs that the
/// documents name: one call for documents and one for VMs, and none for services.
pub async fn list(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    query: &RuntimeQuery,
) -> Result<RuntimePage, RuntimeError> {
    let filters = query.flavour.is_some() || query.state.is_some() || query.name.is_some();
    let after = query.offset.saturating_add(query.limit);
    if !filters {
        let page = DocumentPage { offset: query.offset, size: query.limit };
        let (runtimes, is_last) = page_of(serverless, credentials, query, page).await?;
        return Ok(RuntimePage { runtimes, next_offset: (!is_last).then_some(after) });
    }
    let wanted = query.limit as usize;
    let (mut listed, mut skipped) = (RuntimePage::default(), 0);
    for number in 0..LOOKED_THROUGH_MAX / PAGE {
        let page = DocumentPage { offset: number * PAGE, size: PAGE };
        let (runtimes, is_last) = page_of(serverless, credentials, query, page).await?;
        for runtime in runtimes.into_iter().filter(|runtime| fits(runtime, query)) {
            if skipped < query.offset {
                skipped += 1;
            } else if listed.runtimes.len() < wanted {
                listed.runtimes.push(runtime);
            } else {
                listed.next_offset = Some(after);
            }
        }
        if is_last || listed.next_offset.is_some() {
            break;
        }
    }
    Ok(listed)
}

/// The runtimes of one page, and whether it is the last one. Documents that are no runtimes are left out.
async fn page_of(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    query: &RuntimeQuery,
    page: DocumentPage,
) -> Result<(Vec<ServerlessRuntime>, bool), RuntimeError> {
    let whose = if query.all { DocumentFilter::All } else { DocumentFilter::Mine };
    let size = page.size as usize;
    let documents = serverless.nebula.documents(credentials, whose, RUNTIME_DOCUMENT, Some(page)).await;
    let documents =
        documents.map_err(|error| RuntimeError::of("Failed to list Serverless Runtimes", &error))?;
    let is_last = documents.len() < size;
    let documents = documents.iter().filter(|document| !labels::is_deleting(document));
    let mut runtimes: Vec<ServerlessRuntime> =
        documents.filter_map(|document| ServerlessRuntime::stored(document).ok()).collect();
    let mut ids: Vec<i32> =
        runtimes.iter().flat_map(|runtime| stored_machines(runtime).into_values()).collect();
    ids.sort_unstable();
    ids.dedup();
    let machines = match ids.as_slice() {
        [] => Vec::new(),
        ids => serverless.nebula.machines(credentials, ids).await.map_err(|error| unreadable(&error))?,
    };
    let by_id: BTreeMap<i32, &VirtualMachine> =
        machines.iter().map(|machine| (machine.id, machine)).collect();
    for runtime in &mut runtimes {
        let roles: Vec<FunctionRole> = runtime.roles().collect();
        for role in roles {
            let id = runtime.vm_id(role);
            let machine = id.and_then(|id| by_id.get(&id).copied());
            runtime.show(role, &seen(role, id, machine, &Served::NotYet));
        }
    }
    Ok((runtimes, is_last))
}

fn fits(runtime: &ServerlessRuntime, query: &RuntimeQuery) -> bool {
    query.flavour.as_ref().is_none_or(|flavour| runtime.tuple() == *flavour)
        && query.name.as_ref().is_none_or(|name| runtime.name == *name)
        && query.state.is_none_or(|state| runtime.state(FunctionRole::Faas) == Some(state))
}
