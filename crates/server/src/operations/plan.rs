//! `GET /workflows` and `GET /workflows/{name}`

use api::Code;
use axum::Json;
use axum::extract::State;
use engine::WorkflowInfo;

use crate::app_state::{AppState, Shared};
use crate::http::Failure;
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
    query: Query,
) -> Result<Json<wire::WorkflowList>, Failure> {
    query.finish()?;
    let all = app.engine.workflows().into_iter();
    let items = all.map(|info| with_origin(&app, info.to_wire())).collect();
    Ok(Json(wire::WorkflowList { items, file_errors: file_errors(&app) }))
}

/// The plan of one workflow: its steps with weights and titles.
#[utoipa::path(
    get, path = "/workflows/{name}", tag = "workflows", operation_id = "get_workflow",
    params(("name" = String, Path, description = "The name of the workflow.")),
    responses(
        (status = OK, body = wire::Workflow, description = "The plan."),
        (status = NOT_FOUND, body = wire::Problem, content_type = "application/problem+json",
         description = "There is none: `workflow-not-found`."),
    )
)]
pub(crate) async fn get_workflow(
    State(app): State<Shared>,
    Name(name): Name,
    query: Query,
) -> Result<Json<wire::Workflow>, Failure> {
    query.finish()?;
    Ok(Json(with_origin(&app, find(&app, &name)?.to_wire())))
}

/// The workflow with this name, which must be there.
pub(super) fn find(app: &AppState, name: &str) -> Result<WorkflowInfo, Failure> {
    app.engine.workflow(name).ok_or_else(|| {
        let known: Vec<String> = app.engine.workflows().into_iter().map(|info| info.workflow).collect();
        let detail = format!("there is no workflow {name:?}; known are {}", known.join(", "));
        Failure::new(Code::WorkflowNotFound, detail)
    })
}
