//! `POST /workflows/{name}/dry-run`

use axum::extract::State;
use axum::{Extension, Json};

use super::{declarations, refused};
use crate::app_state::Shared;
use crate::grants::check_submit;
use crate::http::Failure;
use crate::http::body::JsonBody;
use crate::principal::Principal;
use crate::query::Name;
use crate::wire;

/// The calls that an operation of a declared workflow would make. Nothing is called and nothing is kept.
#[utoipa::path(
    post, path = "/workflows/{name}/dry-run", tag = "workflows", operation_id = "dry_run_workflow",
    params(("name" = String, Path, description = "The name of the workflow.")),
    request_body = wire::DryRun,
    responses(
        (status = OK, body = wire::DryRunCalls, description = "The calls, in their order."),
        (status = NOT_FOUND, description = "There is none that was declared: `workflow-not-found`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "The params do not fit the schema: `invalid-declaration`."),
    )
)]
pub(crate) async fn dry_run_workflow(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    JsonBody(asked): JsonBody<wire::DryRun>,
) -> Result<Json<wire::DryRunCalls>, Failure> {
    check_submit(&principal, &name)?;
    let calls = declarations(&app)?.dry_run(&name, &asked.tenant, &asked.params).await.map_err(refused)?;
    let calls = calls
        .into_iter()
        .map(|call| wire::DryRunCall {
            weight: call.weight,
            step: call.step,
            title: call.title,
            url: call.url,
            undo: call.undo,
            depends_on: call.depends_on,
        })
        .collect();
    Ok(Json(wire::DryRunCalls { workflow: name, calls }))
}
