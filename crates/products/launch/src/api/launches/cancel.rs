//! `POST /launches/{id}/cancel`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use engine::{AskError, PhaseVerb as Wish};

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::{Name, QueryParams};
use super::super::rights::Verb;
use super::find::{LaunchDetail, find};
use crate::api::error;
use crate::api::types;
use api::Code;
use server::audit::about;
use server::http::Failure;

/// Gives a launch up, and takes back what it made.
///
/// Once there are instances, `terminate=true` has to say that they may be lost.
#[utoipa::path(
    post, path = "/launches/{id}/cancel", tag = "launches", operation_id = "cancel_launch",
    params(("id" = String, Path, description = "The id or the number of the launch."),
           ("terminate" = Option<bool>, Query, description = "Whether instances may be terminated.")),
    responses(
        (status = ACCEPTED, body = types::Launch, description = "It is asked; the launch shows when it is done."),
        (status = CONFLICT, description = "It is over, or has instances."),
    )
)]
pub(in crate::api) async fn cancel_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
    asked: QueryParams,
) -> Result<impl IntoResponse, Failure> {
    let found = find(&shared, &principal, &name, Verb::Control).await?;
    let may_terminate = asked.switch("terminate")?.unwrap_or(false);
    if found.view.stage.success() == Some(true) {
        let launch = found.view.record.launch;
        return Err(Failure::new(Code::NotNow, "this launch has ended and cannot be cancelled")
            .hint(format!("to end its instances, POST /launches/{launch}/terminate")));
    }
    if !found.view.record.state.instances.is_empty() && !may_terminate {
        return Err(Failure::new(Code::HasInstances, "this launch has instances already")
            .hint("add terminate=true to the query if they may be terminated"));
    }
    ask(&shared, &principal, &name, &found, Wish::Cancel).await
}

/// Asks something of the operation behind a launch.
pub(crate) async fn ask(
    shared: &LaunchState,
    principal: &TenantPrincipal,
    name: &str,
    found: &LaunchDetail,
    control: Wish,
) -> Result<impl IntoResponse + use<>, Failure> {
    let operation = found.view.operation.ok_or_else(|| error::not_found("launch"))?;
    shared.app.engine.ask(operation, control, &principal.name(), "").await.map_err(error_response)?;
    let launch = found.view.record.launch;
    let found = find(shared, principal, name, Verb::Control).await?;
    Ok((StatusCode::ACCEPTED, about(&launch), Json(types::Launch::from(&found.view))))
}

fn error_response(error: AskError) -> Failure {
    match error {
        AskError::Store(error) => error.into(),
        AskError::NotFound => error::not_found("launch"),
        AskError::NotNow { .. } | AskError::Busy { .. } => Failure::new(Code::NotNow, error.to_string())
            .hint("look at the launch: its state says what can be asked"),
    }
}
