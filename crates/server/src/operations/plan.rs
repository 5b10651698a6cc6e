//! `GET /workflows` and `GET /workflows/{name}`

use api::Code;
use axum::extract::State;
use axum::{Extension, Json};
use engine::{Capability, WorkflowInfo};

use crate::app_state::{AppState, Shared};
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::{Name, Query};
use crate::wire::{self, ToWire};
use crate::workflows::{file_errors, with_origin};

/// Every workflow of this release, with its plan.
#[utoipa::path(
    get, path = "/workflows", tag = "workflows", operation_id = "list_workflows",
    responses((status = OK, body = wire::WorkflowList, description = "All of them."))
)]
pub(crate) async fn list_workflows(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    query: Query,
) -> Result<Json<wire::WorkflowList>, Failure> {
    query.finish()?;
    let all = app.engine.workflows().into_iter().filter(|info| principal.sees(&info.workflow));
    let items = all.map(|info| with_origin(&app, info.to_wire())).collect();
    // A file that cannot be read belongs to no workflow that a grant could name.
    let file_errors = if principal.can(Capability::Read) { file_errors(&app) } else { Vec::new() };
    Ok(Json(wire::WorkflowList { items, file_errors }))
}

/// The plan of one workflow: its steps with weights and titles.
#[utoipa::path(
    get, path = "/workflows/{name}", tag = "workflows", operation_id = "get_workflow",
    params(("name" = String, Path, description = "The name of the workflow.")),
    responses(
        (status = OK, body = wire::Workflow, description = "The plan."),
        (status = NOT_FOUND, description = "There is none: `workflow-not-found`."),
    )
)]
pub(crate) async fn get_workflow(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    query: Query,
) -> Result<Json<wire::Workflow>, Failure> {
    query.finish()?;
    Ok(Json(with_origin(&app, find(&app, &principal, &name)?.to_wire())))
}

/// The workflow with this name, which must be there and seen by the caller.
pub(super) fn find(app: &AppState, principal: &Principal, name: &str) -> Result<WorkflowInfo, Failure> {
    let found = app.engine.workflow(name).filter(|_| principal.sees(name));
    found.ok_or_else(|| {
        let detail = format!("there is no workflow {name:?}; known are {}", known(app, principal));
        Failure::new(Code::WorkflowNotFound, detail)
    })
}

/// The names of the workflows that the caller sees.
pub(super) fn known(app: &AppState, principal: &Principal) -> String {
    let all = app.engine.workflows().into_iter().map(|info| info.workflow);
    all.filter(|name| principal.sees(name)).collect::<Vec<_>>().join(", ")
}
