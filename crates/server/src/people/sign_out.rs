//! `DELETE /users/{name}/sessions`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use engine::ProofKind;

use super::find;
use crate::app_state::Shared;
use crate::audit::about;
use crate::http::Failure;
use crate::query::Name;
use crate::wire;

/// Signs a user out everywhere.
///
/// Sessions that began with a token, or with an identity provider, are of another principal that may have the same name:
/// end those one by one.
#[utoipa::path(
    delete, path = "/users/{name}/sessions", tag = "access", operation_id = "sign_out_user",
    params(("name" = String, Path, description = "The name of the user.")),
    responses(
        (status = OK, body = wire::SignedOut, description = "How many sessions ended."),
        (status = NOT_FOUND, description = "There is no such user: `user-not-found`."),
    )
)]
pub(crate) async fn sign_out_user(
    State(app): State<Shared>,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    find(&*app.people, &name).await?;
    let sessions = app.people.remove_sessions(&name, ProofKind::Password).await?;
    Ok((about(&name), Json(wire::SignedOut { sessions })))
}
