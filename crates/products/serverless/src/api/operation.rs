//! `GET /serverless-runtimes/operations/{id}`: what became of a request that did not wait.

use axum::extract::State;
use axum::http::StatusCode;
use engine::{Inspection, OperationId};

use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::error::path_of;
use super::place::OperationPath;
use super::wire::{Action, OperationState};
use super::{ServerlessShared, ServerlessState, error, outcome, wire};
use server::http::{Failure, described};

/// Shows what became of a request.
#[utoipa::path(
    get, path = "/serverless-runtimes/operations/{operation_id}", tag = "runtimes", operation_id = "operation",
    responses((status = OK, body = wire::RuntimeProgress, description = "The operation."))
)]
pub(crate) async fn watch(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    OperationPath(id): OperationPath,
) -> Result<RuntimeResponse, Failure> {
    let tenant = shared.tenant(&credentials).await?;
    let found = shared.app.engine.inspect(id).await?;
    // Those of others are as if they were not there.
    let found = found.filter(|found| found.shown.summary.tenant == tenant);
    let action = found.as_ref().and_then(|found| Action::of(&found.shown.summary.workflow));
    let (found, action) = found.zip(action).ok_or_else(error::no_such_operation)?;
    RuntimeResponse::ok(&wire::RuntimeProgress { operation: progress(&shared, &found, action) })
}

/// 202: it goes on by itself.
pub(crate) fn under_way(id: OperationId, action: Action) -> Result<RuntimeResponse, Failure> {
    let operation = running(id, action);
    let answer = RuntimeResponse::new(StatusCode::ACCEPTED, &wire::RuntimeProgress { operation })?;
    Ok(answer.at(&path_of(id)).not_waiting())
}

fn running(id: OperationId, action: Action) -> wire::RuntimeOperation {
    wire::RuntimeOperation {
        id: id.0,
        action,
        state: OperationState::Running,
        reason: None,
        status: None,
        location: None,
        runtime_error: None,
    }
}

fn progress(shared: &ServerlessShared, found: &Inspection, action: Action) -> wire::RuntimeOperation {
    let summary = &found.shown.summary;
    let mut operation = running(summary.id, action);
    if !summary.phase.is_final() {
        operation.reason.clone_from(&summary.reason);
        return operation;
    }
    match outcome::answer(found, action) {
        Ok(answer) => {
            operation.state = OperationState::Succeeded;
            operation.status = Some(answer.status());
            operation.location = answer.location();
        }
        Err(failure) => {
            let error = described(shared, failure);
            operation.state = OperationState::Failed;
            operation.status = Some(error.status.as_u16());
            operation.runtime_error = Some(wire::Error::of(&error));
        }
    }
    operation
}
