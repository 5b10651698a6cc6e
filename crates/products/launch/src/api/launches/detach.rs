//! `POST /launches/{id}/detach`

use crate::model::profile::Detach;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::PhaseVerb as Wish;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::Verb;
use super::cancel::ask;
use super::find::find;
use crate::api::types;
use server::http::Failure;

/// Says that the window is closed.
///
/// What that means is in the profile of the launch: it goes on, or it is cancelled while there are no instances.
#[utoipa::path(
    post, path = "/launches/{id}/detach", tag = "launches", operation_id = "detach_launch",
    params(("id" = String, Path, description = "The id or the number of the launch.")),
    responses((status = OK, body = types::Launch, description = "The launch continues."),
              (status = ACCEPTED, body = types::Launch, description = "It is being cancelled."))
)]
pub(in crate::api) async fn detach_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<Response, Failure> {
    let found = find(&shared, &principal, &name, Verb::Control).await?;
    let record = &found.view.record;
    let ends = record.profile.detach == Detach::Cancel;
    if ends && record.state.instances.is_empty() && !found.view.stage.is_over() {
        return Ok(ask(&shared, &principal, &name, &found, Wish::Cancel).await?.into_response());
    }
    Ok(Json(types::Launch::from(&found.view)).into_response())
}
