//! `POST /console/sign-in`, with a password or with a token.

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use doors::Denied;
use engine::secret::SecretString;
use engine::store::StoreError;
use engine::{Proof, Role};

use super::form::form;
use crate::desk::{Desk, Hub};
use crate::fields::Fields;
use crate::flash::see_other;
use crate::{cookie, path, visitor};

pub(super) async fn with_password(State(desk): State<Desk>, headers: HeaderMap, fields: Fields) -> Response {
    let again = |status, error: String| {
        form(&desk, &headers, status, fields.text("back"), fields.text("name"), Some(error))
    };
    again(StatusCode::UNAUTHORIZED, "Passwords are not known yet.".to_owned())
}

/// Whoever has a token may look at what it may do.
pub(super) async fn with_token(State(desk): State<Desk>, headers: HeaderMap, fields: Fields) -> Response {
    let again = |status, error: String| form(&desk, &headers, status, fields.text("back"), "", Some(error));
    let token = SecretString::from(fields.text("token"));
    match desk.inside.identify(&token).await {
        Ok(caller) if caller.role == Role::Broker => {
            let error = "This token is for a platform. Use one with another role.";
            again(StatusCode::FORBIDDEN, error.to_owned())
        }
        Ok(caller) => welcome(&desk, &caller.name, caller.role, Proof::Token, fields.text("back")).await,
        Err(Denied::Refused(_)) => {
            let error = "This token is not known here, or it has expired. The file admin.token in the data \
                         directory of the server holds one.";
            again(StatusCode::UNAUTHORIZED, error.to_owned())
        }
        Err(Denied::Unavailable(error)) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}

/// A session, and the page that somebody wanted to see.
async fn welcome(desk: &Hub, name: &str, role: Role, proof: Proof, back: &str) -> Response {
    let begun = visitor::begin(desk, name, role, None, proof).await;
    match begun {
        Ok(secret) => {
            let home = if role < Role::Reader { "/console/launches" } else { path::HOME };
            let back = path::back(back);
            let mut response = see_other(if back == path::HOME { home } else { back });
            let kept = cookie::write(cookie::SESSION, &secret, Some(desk.settings.session), desk.is_https());
            response.headers_mut().append(SET_COOKIE, kept);
            response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::VISIT, desk.is_https()));
            response
        }
        Err(error) => {
            form(desk, &HeaderMap::new(), StatusCode::SERVICE_UNAVAILABLE, back, name, Some(not_now(&error)))
        }
    }
}

fn not_now(error: &StoreError) -> String {
    tracing::warn!(%error, "nobody can sign in: the database does not answer");
    "The database does not answer at the moment. Try again soon.".to_owned()
}
