//! `GET` and `POST /console/sign-in/link`: a link of one use, printed by `serve`.
//!
//! Opening the link changes nothing, so that what previews links does not use it up. The button does.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use engine::secret::SecretString;
use serde::Deserialize;
use server::Principal;

use super::client::Client;
use super::form::form;
use super::start_session::{not_now, welcome};
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::shared::ConsoleState;
use crate::shell::html;
use crate::{cookie, signed_in};

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct SignInLink {
    csrf: CsrfToken,
    code: String,
    program: &'static str,
}

#[derive(Deserialize)]
pub(super) struct LinkQuery {
    #[serde(default)]
    code: String,
}

pub(super) async fn show(
    State(shared): State<ConsoleState>,
    Query(LinkQuery { code }): Query<LinkQuery>,
    headers: HeaderMap,
) -> Response {
    let known = cookie::read(&headers, cookie::VISIT);
    let secret = known.map_or_else(signed_in::secret, str::to_owned);
    let mut response = html(
        StatusCode::OK,
        &SignInLink { csrf: CsrfToken::new(&secret), code, program: shared.settings.program },
    );
    response.headers_mut().append(SET_COOKIE, cookie::write(cookie::VISIT, &secret, None, shared.is_https()));
    response
}

pub(super) async fn follow(
    State(shared): State<ConsoleState>,
    client: Client,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    let from = client.address;
    let again = |status, error: String| form(&shared, &headers, status, "", "", Some(error));
    match shared.inside.redeem_link(&SecretString::from(fields.text("code"))).await {
        Ok(Some(user)) => {
            let from = from.map_or_else(|| "link".to_owned(), |from| format!("link from {from}"));
            shared.inside.write_down(&user.name, "session.link", &from, "303").await;
            welcome(&shared, &headers, client, &Principal::of_user(&user), "").await
        }
        Ok(None) => {
            shared.inside.write_down_failure("(link)", from, "401 link").await;
            let error = "This link was used already, or it is too old. Start the server again for another one, or \
                         sign in with a password.";
            again(StatusCode::UNAUTHORIZED, error.to_owned())
        }
        Err(error) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}
