//! `GET /keys` and `POST /keys/rotate`

use std::sync::Arc;

use api::Code;
use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use tracing::error;

use super::KeyKeeper;
use crate::app_state::{AppState, Shared};
use crate::audit::about;
use crate::http::Failure;
use crate::query::Query;
use crate::wire;

/// The names of the keys that seal secrets. The keys themselves are never shown.
#[utoipa::path(
    get, path = "/keys", tag = "service", operation_id = "list_keys",
    params(("sealed" = Option<bool>, Query, description = "Count what each key sealed. This reads the whole database.")),
    responses(
        (status = OK, body = wire::KeyList, description = "Which keys there are, and which one seals."),
        (status = NOT_FOUND, description = "This server does not keep them: `not-found`."),
    )
)]
pub(crate) async fn list_keys(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<Json<wire::KeyList>, Failure> {
    let sealed = query.flag("sealed")?;
    query.finish()?;
    keeper(&app)?.keys(sealed).await.map(Json).map_err(|error| broken(&error))
}

/// Adds a key and seals with it from now on.
///
/// Older keys still open what they sealed. Other servers follow within seconds.
#[utoipa::path(
    post, path = "/keys/rotate", tag = "service", operation_id = "rotate_keys",
    responses(
        (status = OK, body = wire::KeyList, description = "The keys as they are now."),
        (status = NOT_FOUND, description = "This server does not keep them: `not-found`."),
    )
)]
pub(crate) async fn rotate_keys(State(app): State<Shared>) -> Result<impl IntoResponse, Failure> {
    let keys = keeper(&app)?.rotate().await.map_err(|error| broken(&error))?;
    let active = keys.items.iter().find(|key| key.active).map(|key| key.id.clone()).unwrap_or_default();
    Ok((about(&active), Json(keys)))
}

fn keeper(app: &AppState) -> Result<&Arc<dyn KeyKeeper>, Failure> {
    let missing = || Failure::new(Code::NotFound, "this server does not keep its keys itself");
    app.diagnostics.keys.as_ref().ok_or_else(missing)
}

fn broken(error: &str) -> Failure {
    error!(error, "the key ring cannot be read or changed");
    Failure::internal()
}
