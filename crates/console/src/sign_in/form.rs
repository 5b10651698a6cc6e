//! `GET /console/sign-in`

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::csrf::CsrfToken;
use crate::flash::Flash;
use crate::shared::{ConsoleShared, ConsoleState};
use crate::shell::html;
use crate::{cookie, path, signed_in};

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignIn {
    csrf: CsrfToken,
    back: String,
    name: String,
    error: Option<String>,
    flash: Option<Flash>,
    has_provider: bool,
    program: &'static str,
}

#[derive(Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    back: String,
}

pub(super) async fn show(
    State(shared): State<ConsoleState>,
    Query(asked): Query<SignInQuery>,
    headers: HeaderMap,
) -> Response {
    form(&shared, &headers, StatusCode::OK, &asked.back, "", None)
}

/// The form, with what was typed and what is wrong with it.
pub(super) fn form(
    shared: &ConsoleShared,
    headers: &HeaderMap,
    status: StatusCode,
    back: &str,
    name: &str,
    error: Option<String>,
) -> Response {
    let known = cookie::read(headers, cookie::VISIT);
    let secret = known.map_or_else(signed_in::secret, str::to_owned);
    let page = SignIn {
        csrf: CsrfToken::new(&secret),
        back: path::back(back).to_owned(),
        name: name.to_owned(),
        error,
        flash: Flash::read(headers),
        has_provider: shared.code_flow.is_some(),
        program: shared.settings.program,
    };
    let mut response = html(status, &page);
    response.headers_mut().append(SET_COOKIE, cookie::write(cookie::VISIT, &secret, None, shared.is_https()));
    if page.flash.is_some() {
        response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::FLASH, false));
    }
    response
}
