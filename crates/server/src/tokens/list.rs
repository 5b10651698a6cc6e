//! `GET /tokens`

use axum::Json;
use axum::extract::State;

use crate::app_state::Shared;
use crate::http::Failure;
use crate::query::Query;
use crate::wire::{self, ToWire};

/// Every token, without the tokens themselves.
#[utoipa::path(
    get, path = "/tokens", tag = "access", operation_id = "list_tokens",
    responses((status = OK, body = wire::TokenList, description = "Names, roles and times."))
)]
pub(crate) async fn list_tokens(
    State(app): State<Shared>,
    query: Query,
) -> Result<Json<wire::TokenList>, Failure> {
    query.finish()?;
    let rows = app.access.tokens().await?;
    Ok(Json(wire::TokenList { items: rows.to_wire() }))
}
