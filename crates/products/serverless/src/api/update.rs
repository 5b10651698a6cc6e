//! `PUT /serverless-runtimes/{id}`

use crate::model::Errand;
use crate::model::errand::Request;
use crate::workflows::update as workflow;
use axum::extract::State;

use super::accept::Taken;
use super::answer::Answer;
use super::auth::Claim;
use super::body::Sent;
use super::key::Manner;
use super::place::RuntimeId;
use super::wire::Action;
use super::{Desk, error, journal, operation, outcome, wire};
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
        (status = ACCEPTED, body = wire::Progress, description = "It is being changed.",
         headers(("location" = String, description = "The path of the operation."),
                 ("preference-applied" = String, description = "`respond-async`"))),
        (status = UNPROCESSABLE_ENTITY, body = wire::Error, description = "A disk cannot shrink."),
        (status = LOCKED, body = wire::Error, description = "It is not running, or somebody else changes it."),
    )
)]
pub(crate) async fn update(
    State(desk): State<Desk>,
    Claim(credentials): Claim,
    RuntimeId(id): RuntimeId,
    manner: Manner,
    Sent(body): Sent,
) -> Result<Answer, Failure> {
    journal::received("Update a Serverless Runtime");
    let began = desk.app.engine.now();
    let params = workflow::prepare(&desk.door.serverless, &credentials, id, &body).await?;
    let resource = Errand::resource(id);
    let request = Request::<workflow::Update> {
        resource: &resource,
        params: &params,
        credentials: &credentials,
        idempotency_key: None,
    };
    let operation = match desk.accept(&request).await? {
        Taken::Accepted(accepted) => accepted.id,
        Taken::Busy(other) => return Err(error::busy(desk.doing(other).await?)),
        Taken::KeyReused => return Err(error::key_reused()),
    };
    if manner.is_async {
        return operation::under_way(operation, Action::Update);
    }
    match desk.wait_for(operation, began).await? {
        Some(found) => outcome::answer(&found, Action::Update),
        None => Err(desk.late(operation, "Serverless Runtime is stuck while it is updated").await?.0),
    }
}
