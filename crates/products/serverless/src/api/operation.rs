//! `GET /serverless-runtimes/operations/{id}`: what became of a request that did not wait.

use axum::extract::State;
use axum::http::StatusCode;
use engine::{Inspection, OperationId};

use super::answer::Answer;
use super::auth::Claim;
use super::error::path_of;
use super::place::Watched;
use super::wire::{Action, OperationState};
use super::{Counter, Desk, error, outcome, wire};
use server::http::{Failure, described};

/// Shows what became of a request.
#[utoipa::path(
    get, path = "/serverless-runtimes/operations/{operation_id}", tag = "runtimes", operation_id = "operation",
    responses((status = OK, body = wire::Progress, description = "The operation."))
)]
pub(crate) async fn watch(
    State(desk): State<Desk>,
    Claim(credentials): Claim,
    Watched(id): Watched,
) -> Result<Answer, Failure> {
    let tenant = desk.tenant(&credentials).await?;
    let found = desk.app.engine.inspect(id).await?;
    // Those of others are as if they were not there.
    let found = found.filter(|found| found.shown.summary.tenant == tenant);
    let action = found.as_ref().and_then(|found| Action::of(&found.shown.summary.workflow));
    let (found, action) = found.zip(action).ok_or_else(error::no_such_operation)?;
    Answer::ok(&wire::Progress { operation: progress(&desk, &found, action) })
}

/// 202: it goes on by itself.
pub(crate) fn under_way(id: OperationId, action: Action) -> Result<Answer, Failure> {
    let operation = running(id, action);
    let answer = Answer::new(StatusCode::ACCEPTED, &wire::Progress { operation })?;
    Ok(answer.at(&path_of(id)).not_waiting())
}

fn running(id: OperationId, action: Action) -> wire::Operation {
    wire::Operation {
        id: id.0,
        action,
        state: OperationState::Running,
        reason: None,
        status: None,
        location: None,
        refusal: None,
    }
}

fn progress(desk: &Counter, found: &Inspection, action: Action) -> wire::Operation {
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
            let error = described(desk, failure);
            operation.state = OperationState::Failed;
            operation.status = Some(error.status.as_u16());
            operation.refusal = Some(wire::Error::of(&error));
        }
    }
    operation
}
