//! `DELETE /inventory/{id}`

use crate::workflows::termination::{self, TerminatedInstance};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::{RESERVATION, Verb};
use super::super::{LaunchShared, LaunchState};
use super::wire::Termination;
use server::http::Failure;

/// Terminates one instance of a launch that is over. To ask again is to ask for the same.
#[utoipa::path(
    delete, path = "/inventory/{id}", tag = "inventory", operation_id = "terminate_instance",
    params(("id" = String, Path, description = "The id of the instance in its cloud.")),
    responses(
        (status = ACCEPTED, body = Termination, description = "It is asked; the instance shows when it is done."),
        (status = NOT_FOUND, description = "No launch of this organisation made it."),
        (status = CONFLICT, description = "Its launch is under way: `launch_under_way`."),
    )
)]
pub(in crate::api) async fn terminate_instance(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(id): Name,
) -> Result<(StatusCode, Json<Termination>), Failure> {
    let instance = termination::find(&shared.app.engine, &principal.owner, &id).await?;
    principal.must(&format!("{RESERVATION}.{}", instance.provider()), Verb::Control)?;
    Ok((StatusCode::ACCEPTED, Json(ask(&shared, &principal, &instance).await?)))
}

/// Asks for the end of one instance.
pub(in crate::api) async fn ask(
    shared: &LaunchShared,
    principal: &TenantPrincipal,
    instance: &TerminatedInstance,
) -> Result<Termination, Failure> {
    let standing = termination::ask(&shared.app.engine, &principal.owner, instance).await?;
    Termination::of(instance, standing).ok_or_else(Failure::internal)
}
