//! `GET /sessions` and `DELETE /sessions/{id}`

use api::Code;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use engine::SessionRow;
use engine::store::StoreError;

use crate::app_state::{AppState, Shared};
use crate::audit::about;
use crate::http::Failure;
use crate::people::is_link;
use crate::query::{Name, Query};
use crate::wire::{self, ToWire};

const LIMIT_DEFAULT: u16 = 100;
const LIMIT_MAX: u16 = 1000;
/// Older sessions than this many are not looked at.
const SEARCHED_MAX: usize = 10_000;

/// Who is signed in.
///
/// Newest first, without those that have expired.
#[utoipa::path(
    get, path = "/sessions", tag = "access", operation_id = "list_sessions",
    params(
        ("user" = Option<String>, Query, description = "Only sessions of this name."),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
    ),
    responses((status = OK, body = wire::SessionList, description = "The newest sessions."))
)]
pub(crate) async fn list_sessions(
    State(app): State<Shared>,
    mut query: Query,
) -> Result<Json<wire::SessionList>, Failure> {
    let limit = query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let user = query.text("user")?;
    query.finish()?;
    let rows = live(&app, user.as_deref()).await?.into_iter().take(limit.into());
    Ok(Json(wire::SessionList { items: rows.map(ToWire::to_wire).collect() }))
}

/// Ends a session.
#[utoipa::path(
    delete, path = "/sessions/{id}", tag = "access", operation_id = "end_session",
    params(("id" = String, Path, description = "The id of the session, from the list.")),
    responses(
        (status = NO_CONTENT, description = "It is over."),
        (status = NOT_FOUND, description = "There is none: `session-not-found`."),
    )
)]
pub(crate) async fn end_session(
    State(app): State<Shared>,
    Name(id): Name,
) -> Result<impl IntoResponse, Failure> {
    let missing = || {
        Failure::new(Code::SessionNotFound, format!("there is no session {id:?}; it may have ended already"))
    };
    let rows = live(&app, None).await?;
    let row = rows.iter().find(|row| wire::session_id(row) == id).ok_or_else(missing)?;
    if !app.people.remove_session(&row.digest).await? {
        return Err(missing());
    }
    Ok((StatusCode::NO_CONTENT, about(&row.user)))
}

async fn live(app: &AppState, user: Option<&str>) -> Result<Vec<SessionRow>, StoreError> {
    let now = app.engine.now();
    let mut rows = app.people.sessions(user, SEARCHED_MAX).await?;
    rows.retain(|row| row.expires_at > now && !is_link(row));
    Ok(rows)
}
