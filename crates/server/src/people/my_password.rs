//! `PUT /me/password`

use api::Code;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use engine::secret::SecretString;
use engine::{ProofKind, UserChange};

use super::{Attempt, SignInError, done, hash, password, sign_in};
use crate::app_state::Shared;
use crate::audit::about;
use crate::http::Failure;
use crate::http::body::JsonBody;
use crate::principal::Principal;
use crate::wire::{self, ToWire};

/// Changes your own password.
///
/// For people who signed in with one; a token has none. It ends all sessions that began with the old password, also
/// the one of this request.
#[utoipa::path(
    put, path = "/me/password", tag = "access", operation_id = "change_my_password",
    request_body = wire::ChangePassword,
    responses(
        (status = NO_CONTENT, description = "It is changed."),
        (status = FORBIDDEN, description = "The current password is another one: `wrong-password`."),
        (status = CONFLICT, description = "You have no password here: `no-password`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "The new password is not good enough: `weak-password`."),
        (status = TOO_MANY_REQUESTS, description = "There were too many wrong passwords: `sign-in-locked`."),
    )
)]
pub(crate) async fn change_my_password(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    JsonBody(change): JsonBody<wire::ChangePassword>,
) -> Result<impl IntoResponse, Failure> {
    let no_password = || {
        let detail =
            "only a user who signs in with a password has one to change; a token is replaced instead";
        Failure::new(Code::NoPassword, detail)
    };
    let name = principal.name;
    if principal.proof.kind() != ProofKind::Password || app.people.find_user(&name).await?.is_none() {
        return Err(no_password());
    }
    let (current, new) = (SecretString::from(change.current), SecretString::from(change.new));
    password::check("new", &new, &name)?;
    let attempt = Attempt { name: &name, password: &current, from: None };
    sign_in(&*app.people, &app.sign_ins, attempt, app.settings.sign_in, app.engine.now()).await?;
    let hash = hash::hash(&new).await;
    let change = UserChange { grants: None, role: None, hash: Some(hash) };
    done(app.people.change_user(&name, &change).await?, &name)?;
    Ok((StatusCode::NO_CONTENT, about(&name)))
}

impl From<SignInError> for Failure {
    fn from(error: SignInError) -> Failure {
        match error {
            SignInError::Wrong => Failure::new(Code::WrongPassword, "current: this is not your password")
                .with("field", "current"),
            SignInError::Locked { until } => {
                Failure::new(Code::SignInLocked, error).with("until", until.to_wire().to_string())
            }
            SignInError::TooMany => Failure::new(Code::SignInLocked, error),
            SignInError::Store(error) => error.into(),
        }
    }
}
