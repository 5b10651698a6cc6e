//! `GET /users`

use axum::Json;
use axum::extract::State;

use crate::hall::Shared;
use crate::http::Failure;
use crate::query::Query;
use crate::wire;

/// Every user, by name, without their passwords.
#[utoipa::path(
    get, path = "/users", tag = "access", operation_id = "list_users",
    responses((status = OK, body = wire::UserList, description = "Names, roles and times."))
)]
pub(crate) async fn list_users(
    State(hall): State<Shared>,
    query: Query,
) -> Result<Json<wire::UserList>, Failure> {
    query.finish()?;
    let now = hall.engine.now();
    let rows = hall.people.users().await?;
    Ok(Json(wire::UserList { items: rows.into_iter().map(|row| wire::User::at(now, row)).collect() }))
}
