//! `GET /operations`

use axum::extract::State;
use axum::{Extension, Json};

use super::wanted::ListRequest;
use crate::app_state::Shared;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::Query;
use crate::wire;

/// Operations, newest first unless `sort` says otherwise.
///
/// A search, an order other than `-created` and `housekeeping=hide` look at 5,000 operations at most, the newest first. A
/// page for which more would have to be looked at says so in `looked_at`; in a search, `next` goes on from there.
#[utoipa::path(
    get, path = "/operations", tag = "operations", operation_id = "list_operations",
    params(wire::ListQuery),
    responses((status = OK, body = wire::OperationPage, description = "One page."))
)]
pub(crate) async fn list_operations(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    query: Query,
) -> Result<Json<wire::OperationPage>, Failure> {
    Ok(Json(ListRequest::read(&app.engine, principal, query)?.page(&app.engine).await?))
}
