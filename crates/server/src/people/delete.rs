//! `DELETE /users/{name}`

use api::Code;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use engine::ProofKind;

use super::{done, find};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::Name;
use crate::sandbox_access::check_change;

/// Deletes a user, and ends the sessions that began with the password.
#[utoipa::path(
    delete, path = "/users/{name}", tag = "access", operation_id = "delete_user",
    params(("name" = String, Path, description = "The name of the user.")),
    responses(
        (status = NO_CONTENT, description = "It is gone."),
        (status = NOT_FOUND, description = "There is none: `user-not-found`."),
        (status = CONFLICT,
         description = "It is you: `not-yourself`. Or no user would be an admin any more: `last-admin-user`."),
    )
)]
pub(crate) async fn delete_user(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    if principal.name == name && principal.proof.kind() == ProofKind::Password {
        let detail = format!("you are {name:?}; ask another admin to delete you");
        return Err(Failure::new(Code::NotYourself, detail));
    }
    check_change(&principal, &name)?;
    // Who manages the users of one team removes no one who may do more.
    let user = find(&*app.people, &name).await?;
    grants::check_within(&principal, user.role, &user.grants)?;
    done(app.people.remove_user(&name).await?, &name)?;
    Ok((StatusCode::NO_CONTENT, about(&name)))
}
