//! `GET /users`

use axum::Json;
use axum::extract::State;

use crate::app_state::Shared;
use crate::http::Failure;
use crate::query::Query;
use crate::wire;

/// Every user, by name, without their passwords.
#[utoipa::path(
    get, path = "/users", tag = "access", operation_id = "list_users",
    responses((status = OK, body = wire::UserList, description = "Names, roles and times."))
)]
pub(crate) async fn list_users(
    State(app): State<Shared>,
    query: Query,
) -> Result<Json<wire::UserList>, Failure> {
    query.finish()?;
    let now = app.engine.now();
    let rows = app.people.users().await?;
    Ok(Json(wire::UserList { items: rows.into_iter().map(|row| wire::user_at(now, row)).collect() }))
}
