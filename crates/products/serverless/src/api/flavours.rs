//! `GET /serverless-runtimes/flavours`

use axum::extract::State;

use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::{ServerlessState, journal, wire};
use crate::model::flavours;
use server::http::Failure;

/// Lists the flavours that the caller can ask for.
#[utoipa::path(
    get, path = "/serverless-runtimes/flavours", tag = "runtimes", operation_id = "flavours",
    responses((status = OK, body = wire::FlavourList, description = "Those with a service template that the caller may use."))
)]
pub(crate) async fn flavours(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
) -> Result<RuntimeResponse, Failure> {
    journal::received("List flavours");
    let flavours::Flavours { faas, daas } =
        flavours::flavours(&shared.api_parts.serverless, &credentials).await?;
    RuntimeResponse::ok(&wire::FlavourList {
        faas: faas.into_iter().collect(),
        daas: daas.into_iter().collect(),
    })
}
