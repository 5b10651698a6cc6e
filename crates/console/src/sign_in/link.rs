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
use super::enter::{not_now, welcome};
use super::form::form;
use crate::csrf::CsrfToken;
use crate::desk::Desk;
use crate::fields::Fields;
use crate::shell::html;
use crate::{cookie, visitor};

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
    State(desk): State<Desk>,
    Query(LinkQuery { code }): Query<LinkQuery>,
    headers: HeaderMap,
) -> Response {
    let known = cookie::read(&headers, cookie::VISIT);
    let secret = known.map_or_else(visitor::secret, str::to_owned);
    let mut response = html(
        StatusCode::OK,
        &SignInLink { csrf: CsrfToken::new(&secret), code, program: desk.settings.program },
    );
    response.headers_mut().append(SET_COOKIE, cookie::write(cookie::VISIT, &secret, None, desk.is_https()));
    response
}

pub(super) async fn follow(
    State(desk): State<Desk>,
    client: Client,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    let from = client.address;
    let again = |status, error: String| form(&desk, &headers, status, "", "", Some(error));
    match desk.inside.redeem_link(&SecretString::from(fields.text("code"))).await {
        Ok(Some(user)) => {
            let from = from.map_or_else(|| "link".to_owned(), |from| format!("link from {from}"));
            desk.inside.write_down(&user.name, "session.link", &from, "303").await;
            welcome(&desk, &headers, client, &Principal::of_user(&user), "").await
        }
        Ok(None) => {
            desk.inside.write_down_failure("(link)", from, "401 link").await;
            let error = "This link was used already, or it is too old. Start the server again for another one, or \
                         sign in with a password.";
            again(StatusCode::UNAUTHORIZED, error.to_owned())
        }
        Err(error) => again(StatusCode::SERVICE_UNAVAILABLE, not_now(&error)),
    }
}
