//! `GET /orchestrations/{id}`

use axum::Json;
use axum::extract::State;
use server::http::Failure;
use server::query::{Name, Query};

use super::{find, shown, wire};
use crate::api::operators::Shared;
use crate::workflows::orchestration::counts;

/// One orchestration, with how many runtimes are in each state.
#[utoipa::path(
    get, path = "/orchestrations/{id}", tag = "upgrades", operation_id = "get_orchestration",
    params(("id" = String, Path, description = "The id of the orchestration.")),
    responses(
        (status = OK, body = wire::OrchestrationStatus, description = "The orchestration."),
        (status = NOT_FOUND, description = "There is none: `orchestration-not-found`."),
    )
)]
pub(crate) async fn get_orchestration(
    State(app): State<Shared>,
    Name(id): Name,
    query: Query,
) -> Result<Json<wire::OrchestrationStatus>, Failure> {
    query.finish()?;
    let stored = find(&app.engine, &id).await?;
    let counts = counts(&app.engine, &stored.record).await?;
    Ok(Json(shown(&stored, Some(&counts))))
}
