//! `/healthz` and `/readyz`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;

use crate::app_state::Shared;
use crate::error;
use crate::http::Failure;
use crate::wire::Health;

/// A database that has not answered within this time does not answer.
const READY_LIMIT: Duration = Duration::from_secs(2);

/// Whether the process lives.
///
/// Says nothing about the database: a process must not be restarted because of that.
#[utoipa::path(
    get, path = "/healthz", tag = "service", operation_id = "healthz",
    responses((status = OK, body = Health, description = "It does."))
)]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { status: "alive".into() })
}

/// Whether this node can work.
///
/// It can when the database answers, the node's lease is valid, and every system that the configuration requires has
/// answered once.
#[utoipa::path(
    get, path = "/readyz", tag = "service", operation_id = "readyz",
    responses(
        (status = OK, body = Health, description = "It can."),
        (status = SERVICE_UNAVAILABLE, description = "It cannot, with the reason: `not-ready`."),
    )
)]
pub(crate) async fn readyz(State(app): State<Shared>) -> Result<Json<Health>, Failure> {
    let limit = READY_LIMIT.min(app.settings.request_timeout / 2);
    match tokio::time::timeout(limit, app.engine.is_ready()).await {
        Ok(Ok(())) => match app.diagnostics.missing(limit).await {
            None => Ok(Json(Health { status: "ready".into() })),
            Some(why) => Err(error::not_ready(why)),
        },
        Ok(Err(error)) => Err(error::not_ready(error)),
        Err(_) => Err(error::not_ready(format!("the database has not answered within {limit:?}"))),
    }
}
