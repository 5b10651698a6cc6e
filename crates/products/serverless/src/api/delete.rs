//! `DELETE /serverless-runtimes/{id}`

use crate::model::caller_credentials::Request;
use crate::model::{CallerCredentials, DELETE, NebulaCredentials};
use crate::workflows::delete as workflow;
use axum::extract::State;
use engine::{AskError, OperationId, PhaseVerb, Timestamp};

use super::accept::AcceptResult;
use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::key::RequestOptions;
use super::place::RuntimeId;
use super::wire::Action;
use super::{ServerlessShared, ServerlessState, error, journal, operation, outcome, wire};
use server::http::Failure;

/// How often a request looks again because another request was faster.
const ATTEMPTS_MAX: usize = 10;
const REASON: &str = "the runtime is being deleted";

/// Removes a runtime with everything that belongs to it.
///
/// A change that is under way is given up. The answer is 204 when everything is gone. If that takes too long it is 504,
/// and the removal goes on by itself: the message has the path of its operation.
#[utoipa::path(
    delete, path = "/serverless-runtimes/{id}", tag = "runtimes", operation_id = "delete",
    params(("Prefer" = Option<String>, Header, description = "`respond-async` for an answer at once.")),
    responses(
        (status = NO_CONTENT, description = "It is gone, with everything that belonged to it."),
        (status = ACCEPTED, body = wire::RuntimeProgress, description = "It is being removed.",
         headers(("location" = String, description = "The path of the operation."),
                 ("preference-applied" = String, description = "`respond-async`"))),
        (status = LOCKED, description = "A change cannot be given up at the moment."),
    )
)]
pub(crate) async fn delete(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    RuntimeId(id): RuntimeId,
    manner: RequestOptions,
) -> Result<RuntimeResponse, Failure> {
    journal::received("Delete a Serverless Runtime");
    let began = shared.app.engine.now();
    let params = workflow::prepare(&shared.api_parts.serverless, &credentials, id).await?;
    let operation = begin(&shared, &credentials, id, &params, began).await?;
    if manner.is_async {
        return operation::under_way(operation, Action::Delete);
    }
    match shared.wait_for(operation, began).await? {
        Some(found) => outcome::answer(&found, Action::Delete),
        None => Err(error::takes_long("Serverless Runtime is still being deleted", operation)),
    }
}

/// Accepts the operation, or joins one that does the same.
async fn begin(
    shared: &ServerlessShared,
    credentials: &NebulaCredentials,
    id: i32,
    params: &workflow::Params,
    began: Timestamp,
) -> Result<OperationId, Failure> {
    for _ in 0..ATTEMPTS_MAX {
        let resource = CallerCredentials::resource(id);
        let request = Request::<workflow::Delete> {
            resource: &resource,
            name: None,
            params,
            credentials,
            idempotency_key: None,
        };
        let other = match shared.accept(&request).await? {
            AcceptResult::Accepted(accepted) => return Ok(accepted.id),
            AcceptResult::KeyReused => return Err(error::key_reused()),
            AcceptResult::Busy(other) => other,
        };
        if shared.workflow_of(other).await?.as_deref() == Some(DELETE) {
            return Ok(other);
        }
        make_way(shared, other, began).await?;
    }
    Err(error::locked("Cannot delete Serverless Runtime", "others are changing it at this moment".to_owned()))
}

/// Has the other operation given up, and waits until it has taken back what it did: until then it needs the
/// credentials that came with it.
async fn make_way(shared: &ServerlessShared, other: OperationId, began: Timestamp) -> Result<(), Failure> {
    match shared.app.engine.ask(other, PhaseVerb::Cancel, "serverless", REASON).await {
        // It is over, or on its way back already.
        Ok(()) | Err(AskError::NotFound | AskError::NotNow { .. } | AskError::Busy { .. }) => {}
        Err(AskError::Store(error)) => return Err(error.into()),
    }
    let over = shared.wait_for(other, began).await?;
    if over.is_some_and(|found| found.shown.summary.phase.is_final()) {
        return Ok(());
    }
    Err(error::locked("Cannot delete Serverless Runtime", shared.doing(other).await?))
}
