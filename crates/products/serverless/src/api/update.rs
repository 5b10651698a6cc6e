//! `PUT /serverless-runtimes/{id}`

use crate::model::CallerCredentials;
use crate::model::caller_credentials::Request;
use crate::workflows::update as workflow;
use axum::extract::State;

use super::accept::AcceptResult;
use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::body::RequestBody;
use super::key::RequestOptions;
use super::place::RuntimeId;
use super::wire::Action;
use super::{ServerlessState, error, journal, operation, outcome, wire};
use server::http::Failure;

/// Changes a runtime. What is left out stays as it is.
///
/// The answer comes when everything is changed. What fails half way is changed back.
#[utoipa::path(
    put, path = "/serverless-runtimes/{id}", tag = "runtimes", operation_id = "update",
    params(("Prefer" = Option<String>, Header, description = "`respond-async` for an answer at once.")),
    request_body = wire::Envelope,
    responses(
        (status = OK, body = wire::Envelope, description = "The runtime as it is now."),
        (status = ACCEPTED, body = wire::RuntimeProgress, description = "It is being changed.",
         headers(("location" = String, description = "The path of the operation."),
                 ("preference-applied" = String, description = "`respond-async`"))),
        (status = UNPROCESSABLE_ENTITY, description = "A disk cannot shrink."),
        (status = LOCKED, description = "It is not running, or another request changes it."),
    )
)]
pub(crate) async fn update(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    RuntimeId(id): RuntimeId,
    manner: RequestOptions,
    RequestBody(body): RequestBody,
) -> Result<RuntimeResponse, Failure> {
    journal::received("Update a Serverless Runtime");
    let began = shared.app.engine.now();
    let params = workflow::prepare(&shared.api_parts.serverless, &credentials, id, &body).await?;
    let resource = CallerCredentials::resource(id);
    let request = Request::<workflow::Update> {
        name: None,
        resource: &resource,
        params: &params,
        credentials: &credentials,
        idempotency_key: None,
    };
    let operation = match shared.accept(&request).await? {
        AcceptResult::Accepted(accepted) => accepted.id,
        AcceptResult::Busy(other) => return Err(error::busy(shared.doing(other).await?)),
        AcceptResult::KeyReused => return Err(error::key_reused()),
    };
    if manner.is_async {
        return operation::under_way(operation, Action::Update);
    }
    match shared.wait_for(operation, began).await? {
        Some(found) => outcome::answer(&found, Action::Update),
        None => Err(shared.late(operation, "Serverless Runtime is stuck while it is updated").await?.0),
    }
}
