//! `GET /runtimes/{id}`

use axum::Json;
use axum::extract::State;

use super::Shared;
use super::list::add_bindings;
use super::{find, show};
use crate::api::types;
use server::http::Failure;
use server::query::{Name, Query};

/// One service instance with its runtime and its bindings.
#[utoipa::path(
    get, path = "/runtimes/{id}", tag = "runtimes", operation_id = "get_runtime",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime.")),
    responses(
        (status = OK, body = types::Runtime, description = "The runtime. One that is gone is shown for a while."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
    )
)]
pub(crate) async fn get_runtime(
    State(app): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<Json<types::Runtime>, Failure> {
    query.finish()?;
    let mut runtime = show::runtime(&find(&app, &id).await?, Some(&app.catalog));
    add_bindings(&app.engine, std::slice::from_mut(&mut runtime)).await?;
    Ok(Json(runtime))
}
