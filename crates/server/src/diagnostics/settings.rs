//! `GET /settings`

use axum::Json;
use axum::extract::State;

use crate::app_state::Shared;
use crate::http::Failure;
use crate::query::Query;
use crate::wire;

/// Every setting in force, with secrets masked.
#[utoipa::path(
    get, path = "/settings", tag = "service", operation_id = "list_settings",
    responses((status = OK, body = wire::SettingList, description = "By path."))
)]
pub(crate) async fn list_settings(
    State(app): State<Shared>,
    query: Query,
) -> Result<Json<wire::SettingList>, Failure> {
    query.finish()?;
    Ok(Json(wire::SettingList { items: app.diagnostics.settings.to_vec() }))
}
