//! `GET /workflows/{name}/versions` and `GET /workflows/{name}/versions/{version}`

use api::Code;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use declared::{Head, VersionLine};

use super::{declarations, with_origin};
use crate::app_state::{AppState, Shared};
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::{Name, Query, not_allowed};
use crate::wire::{self, ToWire};

/// The versions of a declared workflow that are kept, the newest first.
#[utoipa::path(
    get, path = "/workflows/{name}/versions", tag = "workflows", operation_id = "list_workflow_versions",
    params(("name" = String, Path, description = "The name of the workflow.")),
    responses(
        (status = OK, body = wire::WorkflowVersionList, description = "Those that are kept."),
        (status = NOT_FOUND, description = "There is none that was declared: `workflow-not-found`."),
    )
)]
pub(crate) async fn list_workflow_versions(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    query: Query,
) -> Result<Json<wire::WorkflowVersionList>, Failure> {
    query.finish()?;
    let head = head(&app, &principal, &name)?;
    let items = head.versions.iter().rev().map(|line| version(&head, line)).collect();
    Ok(Json(wire::WorkflowVersionList { workflow: name, items }))
}

/// One version of a declared workflow: its content and its plan.
#[utoipa::path(
    get, path = "/workflows/{name}/versions/{version}", tag = "workflows", operation_id = "get_workflow_version",
    params(("name" = String, Path, description = "The name of the workflow."),
           ("version" = u32, Path, description = "The number of the version.")),
    responses(
        (status = OK, body = wire::WorkflowContent, description = "The version."),
        (status = NOT_FOUND,
         description = "There is none, or it is not kept any more: `workflow-not-found`."),
    )
)]
pub(crate) async fn get_workflow_version(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Path((name, number)): Path<(String, String)>,
    query: Query,
) -> Result<Json<wire::WorkflowContent>, Failure> {
    query.finish()?;
    let number: u32 = number.parse().map_err(|_| not_allowed("version", &number, "a whole number"))?;
    let head = head(&app, &principal, &name)?;
    let missing =
        || Failure::new(Code::WorkflowNotFound, format!("{name} has no version {number} that is kept"));
    let line = head.line(number).ok_or_else(missing)?;
    let record = declarations(&app)?.version(&name, number).await?.ok_or_else(missing)?;
    let info = app.engine.workflow_version(&name, Some(number)).ok_or_else(missing)?;
    let plan = with_origin(&app, info.to_wire());
    Ok(Json(wire::WorkflowContent { version: version(&head, line), content: record.text, plan }))
}

fn head(app: &AppState, principal: &Principal, name: &str) -> Result<Head, Failure> {
    let found = declarations(app)?.get(name).filter(|_| principal.sees(name)).map(|declared| declared.head);
    found.ok_or_else(|| {
        Failure::new(Code::WorkflowNotFound, format!("there is no declared workflow {name:?}"))
    })
}

fn version(head: &Head, line: &VersionLine) -> wire::WorkflowVersion {
    wire::WorkflowVersion {
        version: line.version,
        digest: line.digest.clone(),
        by: line.by.clone(),
        at: line.at.to_wire(),
        replaced_at: line.replaced_at.to_wire(),
        is_current: head.offered == Some(line.version),
    }
}
