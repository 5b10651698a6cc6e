//! `PUT /users/{name}`

use api::Code;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::UserChange;
use engine::secret::SecretString;

use super::{check_role, done, find, hash, password};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::http::body::JsonBody;
use crate::principal::Principal;
use crate::query::Name;
use crate::sandbox_access::check_change;
use crate::wire;

/// Changes the role of a user, its grants, or its password.
///
/// It unlocks the user and ends the sessions that began with the password.
#[utoipa::path(
    put, path = "/users/{name}", tag = "access", operation_id = "change_user",
    params(("name" = String, Path, description = "The name of the user.")),
    request_body = wire::ChangeUser,
    responses(
        (status = OK, body = wire::User, description = "The user as it is now."),
        (status = NOT_FOUND, description = "There is none: `user-not-found`."),
        (status = CONFLICT, description = "No user would be an admin any more: `last-admin-user`."),
        (status = UNPROCESSABLE_ENTITY, description = "The password is not good enough: `weak-password`."),
    )
)]
pub(crate) async fn change_user(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    JsonBody(change): JsonBody<wire::ChangeUser>,
) -> Result<impl IntoResponse, Failure> {
    let wire::ChangeUser { role, grants, password } = change;
    if role.is_none() && grants.is_none() && password.is_none() {
        return Err(Failure::new(Code::InvalidBody, "give a role, grants or a password, or several of them"));
    }
    check_change(&principal, &name)?;
    let role = role.map(wire::role);
    role.map_or(Ok(()), check_role)?;
    let grants = grants.as_deref().map(grants::read).transpose()?;
    let before = find(&*app.people, &name).await?;
    // Who sets the password of a user can sign in as that user.
    grants::check_within(&principal, before.role, &before.grants)?;
    let after = grants.as_deref().unwrap_or(&before.grants);
    grants::check_within(&principal, role.unwrap_or(before.role), after)?;
    let hash = match password.map(SecretString::from) {
        Some(password) => {
            password::check("password", &password, &name)?;
            Some(hash::hash(&password).await)
        }
        None => None,
    };
    done(app.people.change_user(&name, &UserChange { role, grants, hash }).await?, &name)?;
    let changed = find(&*app.people, &name).await?;
    Ok((about(&name), Json(wire::user_at(app.engine.now(), changed))))
}
