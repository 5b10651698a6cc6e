//! `POST /console/sign-in`, with a password or with a token.

use axum::extract::State;
use axum::http::header::{RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use engine::Capability;
use engine::secret::SecretString;
use engine::store::StoreError;
use server::{AuthError, Principal, SignInError};

use super::client::Client;
use super::form::form;
use crate::fields::Fields;
use crate::flash::see_other;
use crate::home::start_page;
use crate::parts::span;
use crate::shared::{ConsoleShared, ConsoleState};
use crate::{cookie, path, signed_in};

pub(super) async fn with_password(
    State(shared): State<ConsoleState>,
    client: Client,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    let (name, back) = (fields.text("name"), fields.text("back"));
    let again = |status, error: String| form(&shared, &headers, status, back, name, Some(error));
    let password = SecretString::from(fields.raw("password"));
    let from = client.address;
    match shared.inside.sign_in(name, &password, from).await {
        Ok(user) => welcome(&shared, &headers, client, &Principal::of_user(&user), back).await,
        // The same words for both: only a user who exists can be locked, and the answer must not tell which users exist.
        Err(error @ (SignInError::Wrong | SignInError::Locked { .. })) => {
            let result = if error == SignInError::Wrong { "401 wrong" } else { "401 locked" };
            shared.inside.write_down_failure(shown(name), from, result).await;
            let limits = shared.inside.sign_in_limits();
            let error = format!(
                "The user or the password is wrong. After {} wrong passwords a user is locked for {}; an admin can \
                 set a new one.",
                limits.attempts,
                span(limits.lock)
            );
            again(StatusCode::UNAUTHORIZED, error)
        }
        Err(SignInError::TooMany) => {
            shared.inside.write_down_failure(shown(name), from, "429").await;
            let error = "There are too many attempts to sign in. Try again in a few minutes.".to_owned();
            let mut response = again(StatusCode::TOO_MANY_REQUESTS, error);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
            response
        }
        Err(SignInError::Store(error)) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

/// A name that could be one. Anything else may be a password in the wrong place.
fn shown(name: &str) -> &str {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= 64 && name.chars().all(is_name) { name } else { "(not a name)" }
}

/// The user who has a token may look at what it may do.
pub(super) async fn with_token(
    State(shared): State<ConsoleState>,
    client: Client,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    let back = fields.text("back");
    let again = |status, error: String| form(&shared, &headers, status, back, "", Some(error));
    let token = SecretString::from(fields.text("token"));
    match shared.inside.principal_of(&token).await {
        Ok(principal) => welcome(&shared, &headers, client, &principal, back).await,
        Err(AuthError::Refused(_)) => {
            let error = "This token is not known here, or it has expired. The file admin.token in the data \
                         directory of the server holds one.";
            again(StatusCode::UNAUTHORIZED, error.to_owned())
        }
        Err(AuthError::Unavailable(error)) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

/// A session, and the page that was asked for; a principal with nothing to see here gets none.
pub(super) async fn welcome(
    shared: &ConsoleShared,
    headers: &HeaderMap,
    client: Client,
    who: &Principal,
    back: &str,
) -> Response {
    let again = |status, error: String| form(shared, headers, status, back, "", Some(error));
    if !who.can(Capability::SignIn) && !who.has_permissions() {
        return again(StatusCode::FORBIDDEN, no_access(who));
    }
    match signed_in::begin(shared, who, client).await {
        Ok(secret) => {
            shared.inside.write_down(&who.name, "session.begin", who.proof.kind().as_str(), "303").await;
            let home = start_page(shared, who);
            let back = path::back(back);
            let mut response = see_other(if back == path::HOME { home } else { back });
            let kept =
                cookie::write(cookie::SESSION, &secret, Some(shared.settings.session), shared.is_https());
            let done = [cookie::VISIT, cookie::FLOW].map(|name| cookie::forget(name, shared.is_https()));
            for value in [kept].into_iter().chain(done) {
                response.headers_mut().append(SET_COOKIE, value);
            }
            response
        }
        Err(error) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

fn no_access(who: &Principal) -> String {
    if who.can(Capability::UseBroker) {
        return "This token is for a platform. Use one with another role.".to_owned();
    }
    format!("{} is known, but has no role here. Ask an admin to put you into a group.", who.name)
}

pub(super) fn not_now(error: &StoreError) -> String {
    tracing::warn!(%error, "sign-in failed: the database does not answer");
    "The database does not answer at the moment. Try again soon.".to_owned()
}
