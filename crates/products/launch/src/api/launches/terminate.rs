//! `POST /launches/{id}/terminate`

use crate::model::record::LaunchRecord;
use crate::workflows::termination;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::super::LaunchState;
use super::super::inventory::terminate;
use super::super::inventory::wire::Terminations;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::Verb;
use super::find::find;
use crate::api::error;
use server::audit::about;
use server::http::Failure;

/// Terminates all instances of a launch that is over. To ask again is to ask for the same.
#[utoipa::path(
    post, path = "/launches/{id}/terminate", tag = "launches", operation_id = "terminate_launch",
    params(("id" = String, Path, description = "The id or the number of the launch.")),
    responses(
        (status = ACCEPTED, body = Terminations, description = "It is asked; each instance shows when it is done."),
        (status = CONFLICT, description = "The launch is under way: `launch_under_way`."),
    )
)]
pub(in crate::api) async fn terminate_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    let launch = find(&shared, &principal, &name, Verb::Control).await?.view.record.launch;
    let row = shared.app.engine.resource(&LaunchRecord::resource(launch)).await?;
    let row = row.ok_or_else(|| error::not_found("launch"))?;
    let mut data = Vec::new();
    for instance in termination::instances(&row)? {
        data.push(terminate::ask(&shared, &principal, &instance).await?);
    }
    Ok((StatusCode::ACCEPTED, about(&launch), Json(Terminations { data })))
}
