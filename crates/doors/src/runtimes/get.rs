//! `GET /runtimes/{id}`

use axum::Json;
use axum::extract::State;

use super::list::add_bindings;
use super::{find, show};
use crate::hall::Shared;
use crate::http::Failure;
use crate::query::{Name, Query};
use crate::wire;

/// One service instance with its runtime and its bindings.
#[utoipa::path(
    get, path = "/runtimes/{id}", tag = "runtimes", operation_id = "get_runtime",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime.")),
    responses(
        (status = OK, body = wire::Runtime, description = "The runtime. One that is gone is shown for a while."),
        (status = NOT_FOUND, body = wire::Problem, content_type = "application/problem+json",
         description = "There is none: `runtime-not-found`."),
    )
)]
pub(crate) async fn get_runtime(
    State(hall): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<Json<wire::Runtime>, Failure> {
    query.finish()?;
    let mut runtime = show::runtime(&find(&hall, &id).await?, hall.catalog.as_ref());
    add_bindings(&hall.engine, std::slice::from_mut(&mut runtime)).await?;
    Ok(Json(runtime))
}
