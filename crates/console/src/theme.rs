//! The theme: light, dark, or that of the system.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::cookie;
use crate::fields::Fields;
use crate::flash::see_other;
use crate::path;

const LIVES: Duration = Duration::from_hours(24 * 365);

/// For the attribute of the page; empty for whatever the system says.
pub(crate) fn chosen(headers: &HeaderMap) -> &'static str {
    match cookie::read(headers, cookie::THEME) {
        Some("dark") => "dark",
        Some("light") => "light",
        _ => "",
    }
}

pub(crate) async fn choose(fields: Fields) -> Response {
    let theme = match fields.text("theme") {
        theme @ ("dark" | "light") => theme,
        _ => "",
    };
    let mut response = see_other(path::back(fields.text("back")));
    response.headers_mut().append(SET_COOKIE, cookie::write(cookie::THEME, theme, Some(LIVES), false));
    response
}
