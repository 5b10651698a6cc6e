//! `POST /launches/{id}/retry` and `POST /launches/{id}/cleanup`

use crate::model::status::LaunchPhase;
use axum::extract::State;
use axum::response::IntoResponse;
use engine::PhaseVerb as Wish;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::Verb;
use super::cancel::ask;
use super::find::find;
use crate::api::types;
use api::Code;
use server::http::Failure;

/// Starts a launch again that failed or was cancelled, or makes one that waits try at once.
#[utoipa::path(
    post, path = "/launches/{id}/retry", tag = "launches", operation_id = "retry_launch",
    params(("id" = String, Path, description = "The id or the number of the launch.")),
    responses(
        (status = ACCEPTED, body = types::Launch, description = "It is asked."),
        (status = CONFLICT, description = "Not in this state: `not_now`."),
    )
)]
pub(in crate::api) async fn retry_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    let found = find(&shared, &principal, &name, Verb::Control).await?;
    if found.view.stage == LaunchPhase::FailedDirty {
        return Err(Failure::new(Code::NotNow, "something of this launch is still there")
            .hint("ask for its clean-up first"));
    }
    ask(&shared, &principal, &name, &found, Wish::Retry).await
}

/// Tries again to take back what a failed launch left behind.
#[utoipa::path(
    post, path = "/launches/{id}/cleanup", tag = "launches", operation_id = "clean_up_launch",
    params(("id" = String, Path, description = "The id or the number of the launch.")),
    responses(
        (status = ACCEPTED, body = types::Launch, description = "It is asked."),
        (status = CONFLICT, description = "Nothing is left over: `not_now`."),
    )
)]
pub(in crate::api) async fn clean_up_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    let found = find(&shared, &principal, &name, Verb::Control).await?;
    if found.view.stage != LaunchPhase::FailedDirty {
        return Err(Failure::new(Code::NotNow, "this launch has left nothing behind"));
    }
    ask(&shared, &principal, &name, &found, Wish::Retry).await
}
