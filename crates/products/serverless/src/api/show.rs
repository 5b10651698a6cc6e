//! `GET /serverless-runtimes/{id}`

use crate::model::view;
use axum::extract::State;
use axum::http::StatusCode;

use super::answer::Answer;
use super::auth::Claim;
use super::place::RuntimeId;
use super::{Desk, journal, wire};
use server::http::Failure;

/// Shows a runtime as it is now. Nothing is written.
#[utoipa::path(
    get, path = "/serverless-runtimes/{id}", tag = "runtimes", operation_id = "get",
    responses((status = OK, body = wire::Envelope, description = "The runtime."))
)]
pub(crate) async fn show(
    State(desk): State<Desk>,
    Claim(credentials): Claim,
    RuntimeId(id): RuntimeId,
) -> Result<Answer, Failure> {
    journal::received("Retrieve a Serverless Runtime information");
    let runtime = view::read(&desk.door.serverless, &credentials, id).await?;
    Ok(Answer::of(StatusCode::OK, runtime.to_answer()).entry("retrieved"))
}
