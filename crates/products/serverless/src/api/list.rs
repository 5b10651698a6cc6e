//! `GET /serverless-runtimes`

use crate::model::{ServerlessRuntime, view};
use axum::extract::State;
use serde::Serialize;

use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::query::ListParams;
use super::{ServerlessState, journal, wire};
use server::http::Failure;

/// A page as it is written.
#[derive(Serialize)]
struct PageBody {
    #[serde(rename = "SERVERLESS_RUNTIMES")]
    runtimes: Vec<ServerlessRuntime>,
    #[serde(rename = "NEXT_OFFSET", skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

/// Lists the caller's runtimes.
#[utoipa::path(
    get, path = "/serverless-runtimes", tag = "runtimes", operation_id = "list",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200, description = "How many at most; 50 if it is left out."),
        ("offset" = Option<u32>, Query, description = "How many to leave out at the beginning."),
        ("flavour" = Option<String>, Query, description = "Only those of these flavours, such as `Function-Data`."),
        ("state" = Option<wire::State>, Query, description = "Only those whose function is in this state."),
        ("name" = Option<String>, Query, description = "Only those with exactly this name."),
        ("all" = Option<bool>, Query, description = "Also those of others that the caller may see."),
    ),
    responses((status = OK, body = wire::Listing, description = "The runtimes."))
)]
pub(crate) async fn list(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    ListParams(query): ListParams,
) -> Result<RuntimeResponse, Failure> {
    journal::received("List Serverless Runtimes");
    let view::RuntimePage { runtimes, next_offset } =
        view::list(&shared.api_parts.serverless, &credentials, &query).await?;
    RuntimeResponse::ok(&PageBody { runtimes, next_offset })
}
