//! `GET /console/sign-in`

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::csrf::CsrfToken;
use crate::desk::{Desk, Hub};
use crate::flash::Flash;
use crate::shell::html;
use crate::{cookie, path, visitor};

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
pub(super) struct Asked {
    #[serde(default)]
    back: String,
}

pub(super) async fn show(
    State(desk): State<Desk>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Response {
    form(&desk, &headers, StatusCode::OK, &asked.back, "", None)
}

/// The form, with what was typed and what is wrong with it.
pub(super) fn form(
    desk: &Hub,
    headers: &HeaderMap,
    status: StatusCode,
    back: &str,
    name: &str,
    error: Option<String>,
) -> Response {
    let known = cookie::read(headers, cookie::VISIT);
    let secret = known.map_or_else(visitor::secret, str::to_owned);
    let page = SignIn {
        csrf: CsrfToken::new(&secret),
        back: path::back(back).to_owned(),
        name: name.to_owned(),
        error,
        flash: Flash::read(headers),
        has_provider: desk.code_flow.is_some(),
        program: desk.settings.program,
    };
    let mut response = html(status, &page);
    response.headers_mut().append(SET_COOKIE, cookie::write(cookie::VISIT, &secret, None, desk.is_https()));
    if page.flash.is_some() {
        response.headers_mut().append(SET_COOKIE, cookie::forget(cookie::FLASH, false));
    }
    response
}
