//! `POST /console/sign-in`, with a password or with a token.

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use doors::{Denied, SignInError, SignInLimits, sign_in};
use engine::secret::SecretString;
use engine::store::StoreError;
use engine::{Proof, Role, UserRow};

use super::form::form;
use crate::desk::{Desk, Hub};
use crate::fields::Fields;
use crate::flash::see_other;
use crate::parts::span;
use crate::{cookie, path, visitor};

/// Somebody who proved who they are.
pub(super) struct Entering {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) org: Option<String>,
    pub(super) proof: Proof,
}

pub(super) async fn with_password(State(desk): State<Desk>, headers: HeaderMap, fields: Fields) -> Response {
    let (name, back) = (fields.text("name"), fields.text("back"));
    let again = |status, error: String| form(&desk, &headers, status, back, name, Some(error));
    let password = SecretString::from(fields.raw("password"));
    let limits = SignInLimits { attempts: desk.settings.attempts, lock: desk.settings.locked };
    let now = desk.inside.engine().now();
    match sign_in(&*desk.people, name, &password, limits, now).await {
        Ok(user) => {
            let who =
                Entering { name: user.name.clone(), role: user.role, org: None, proof: Proof::Password };
            let response = welcome(&desk, who, back).await;
            if is_still(&desk, &user).await {
                return response;
            }
            again(StatusCode::UNAUTHORIZED, "The password was changed at this moment. Try again.".to_owned())
        }
        // The same words for both: only a user who exists can be locked, and nobody learns who does.
        Err(error @ (SignInError::Wrong | SignInError::Locked { .. })) => {
            let result = if error == SignInError::Wrong { "401 wrong" } else { "401 locked" };
            desk.inside.write_down(shown(name), "session.begin", "password", result).await;
            let error = format!(
                "The user or the password is wrong. After {} wrong passwords a user is locked for {}; an admin can \
                 set a new one.",
                limits.attempts,
                span(limits.lock)
            );
            again(StatusCode::UNAUTHORIZED, error)
        }
        Err(SignInError::Store(error)) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

/// Whether a user is what it was a moment ago. A change ends the sessions that there are, and one that begins at the
/// same moment could be missed.
async fn is_still(desk: &Hub, user: &UserRow) -> bool {
    let found = desk.people.find_user(&user.name).await;
    let is_same = |found: &UserRow| found.hash == user.hash && found.role == user.role;
    let is_same = found.is_ok_and(|found| found.is_some_and(|found| is_same(&found)));
    if !is_same && let Err(error) = desk.people.remove_sessions(&user.name, Proof::Password).await {
        tracing::warn!(%error, "a session on an old password could not be ended");
    }
    is_same
}

/// A name that could be one. Anything else may be a password in the wrong place.
fn shown(name: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= 64 && name.chars().all(is_name) { name } else { "(not a name)" }
}

/// Whoever has a token may look at what it may do.
pub(super) async fn with_token(State(desk): State<Desk>, headers: HeaderMap, fields: Fields) -> Response {
    let back = fields.text("back");
    let again = |status, error: String| form(&desk, &headers, status, back, "", Some(error));
    let token = SecretString::from(fields.text("token"));
    match desk.inside.identify(&token).await {
        Ok(caller) if caller.role == Role::Broker => {
            let error = "This token is for a platform. Use one with another role.";
            again(StatusCode::FORBIDDEN, error.to_owned())
        }
        Ok(caller) => {
            let who = Entering { name: caller.name, role: caller.role, org: None, proof: Proof::Token };
            welcome(&desk, who, back).await
        }
        Err(Denied::Refused(_)) => {
            let error = "This token is not known here, or it has expired. The file admin.token in the data \
                         directory of the server holds one.";
            again(StatusCode::UNAUTHORIZED, error.to_owned())
        }
        Err(Denied::Unavailable(error)) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

/// A session, and the page that somebody wanted to see.
pub(super) async fn welcome(desk: &Hub, who: Entering, back: &str) -> Response {
    let Entering { name, role, org, proof } = who;
    match visitor::begin(desk, &name, role, org, proof).await {
        Ok(secret) => {
            desk.inside.write_down(&name, "session.begin", proof.as_str(), "303").await;
            let home = if role < Role::Reader { "/console/launches" } else { path::HOME };
            let back = path::back(back);
            let mut response = see_other(if back == path::HOME { home } else { back });
            let kept = cookie::write(cookie::SESSION, &secret, Some(desk.settings.session), desk.is_https());
            let done = [cookie::VISIT, cookie::FLOW].map(|name| cookie::forget(name, desk.is_https()));
            for value in [kept].into_iter().chain(done) {
                response.headers_mut().append(SET_COOKIE, value);
            }
            response
        }
        Err(error) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            form(desk, &HeaderMap::new(), status, back, &name, Some(not_now(&error)))
        }
    }
}

fn not_now(error: &StoreError) -> String {
    tracing::warn!(%error, "nobody can sign in: the database does not answer");
    "The database does not answer at the moment. Try again soon.".to_owned()
}
