//! `POST /users`

use api::Code;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::UserRow;
use engine::secret::SecretString;

use super::{check_role, hash, new_user, password};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::http::body::JsonBody;
use crate::principal::Principal;
use crate::sandbox_access::name_of_new;
use crate::tokens::{NAME_RULE, is_name};
use crate::wire::{self, ToWire};

/// Makes a user.
///
/// Without a password one is made. It is in this answer and can never be shown again.
#[utoipa::path(
    post, path = "/users", tag = "access", operation_id = "create_user",
    request_body = wire::NewUser,
    responses(
        (status = CREATED, body = wire::CreatedUser, description = "The user, and a made password this once."),
        (status = CONFLICT, description = "The name is taken: `user-exists`."),
        (status = UNPROCESSABLE_ENTITY, description = "The password is not good enough: `weak-password`."),
    )
)]
pub(crate) async fn create_user(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    JsonBody(new): JsonBody<wire::NewUser>,
) -> Result<impl IntoResponse, Failure> {
    let wire::NewUser { name, role, grants, password } = new;
    if !is_name(&name) {
        let detail = format!("name: the name of a user has {NAME_RULE}");
        return Err(Failure::new(Code::InvalidBody, detail).with("field", "name"));
    }
    let name = name_of_new(&principal, &name);
    check_role(wire::role(role))?;
    let grants = grants::read(&grants)?;
    grants::check_within(&principal, wire::role(role), &grants)?;
    let shown_grants = grants::texts(&grants);
    let is_given = password.is_some();
    let password = password.map_or_else(password::made, SecretString::from);
    password::check("password", &password, &name)?;
    let hash = hash::hash(&password).await;
    let now = app.engine.now();
    let user = UserRow { grants, ..new_user(&name, wire::role(role), hash, now) };
    if !app.people.add_user(&user).await? {
        return Err(Failure::new(Code::UserExists, format!("there is a user {name:?} already")));
    }
    let target = about(&name);
    let shown = (!is_given).then(|| wire::Password::from(&password));
    let answer =
        wire::CreatedUser { name, role, grants: shown_grants, created_at: now.to_wire(), password: shown };
    Ok((StatusCode::CREATED, target, Json(answer)))
}
