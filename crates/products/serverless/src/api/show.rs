//! `GET /serverless-runtimes/{id}`

use crate::model::view;
use axum::extract::State;
use axum::http::StatusCode;

use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::place::RuntimeId;
use super::{ServerlessState, journal, wire};
use server::http::Failure;

/// Shows a runtime as it is now. Nothing is written.
#[utoipa::path(
    get, path = "/serverless-runtimes/{id}", tag = "runtimes", operation_id = "get",
    responses((status = OK, body = wire::Envelope, description = "The runtime."))
)]
pub(crate) async fn show(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    RuntimeId(id): RuntimeId,
) -> Result<RuntimeResponse, Failure> {
    journal::received("Retrieve a Serverless Runtime information");
    let runtime = view::read(&shared.api_parts.serverless, &credentials, id).await?;
    Ok(RuntimeResponse::of(StatusCode::OK, runtime.to_answer()).entry("retrieved"))
}
