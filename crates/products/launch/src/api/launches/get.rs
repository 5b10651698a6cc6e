//! `GET /launches/{id}`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::{Name, QueryParams};
use super::wait::{answer, look};
use crate::api::types;
use server::http::Failure;

/// Shows a launch.
///
/// Who sends `If-None-Match` with the `ETag` of the last answer gets 304 while nothing has happened, and with
/// `wait` that answer only comes when the time is over.
#[utoipa::path(
    get, path = "/launches/{id}", tag = "launches", operation_id = "get_launch",
    params(("id" = String, Path, description = "The id or the number of the launch."),
           ("wait" = Option<String>, Query, description = "How long to wait for something new, such as `30s`."),
           ("If-None-Match" = Option<String>, Header, description = "What the client has.")),
    responses((status = OK, body = types::Launch, description = "The launch."),
              (status = NOT_MODIFIED, description = "Nothing has happened."))
)]
pub(in crate::api) async fn get_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
    asked: QueryParams,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (found, is_known) = look(&shared, &principal, &name, &asked, &headers).await?;
    Ok(answer(&found, is_known, types::Launch::from(&found.view)))
}
