//! The console below a path: behind a proxy that strips `/engine`, every address that a browser sees begins with `/engine`.
//!
//! Pages are written with addresses from the root. They are put below the path when they leave, in one place.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::shared::ConsoleState;

const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");
/// More than any page.
const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Attributes with addresses. In a text the quotation mark is escaped, so that none of these is in one.
const ATTRIBUTES: [&str; 6] =
    [r#"href="/"#, r#"src="/"#, r#"action="/"#, r#"hx-get="/"#, r#"hx-post="/"#, r#"data-live="/"#];

/// The path of `console.public_url`, without a slash at its end; empty at the root of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Base(String);

impl Base {
    pub(crate) fn of(public_url: Option<&str>) -> Base {
        let after_scheme = public_url.and_then(|url| url.split_once("://")).map_or("", |(_, rest)| rest);
        let path = after_scheme.split(['?', '#']).next().unwrap_or_default();
        let path = path.find('/').map_or("", |slash| &path[slash..]);
        Base(path.trim_end_matches('/').to_owned())
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// A page or a part of one, as a browser below the path needs it.
    pub(crate) fn page(&self, html: String) -> String {
        if self.is_root() {
            return html;
        }
        ATTRIBUTES.iter().fold(html, |html, attribute| {
            let start = attribute.trim_end_matches('/');
            html.replace(attribute, &format!("{start}{}/", self.0))
        })
    }

    fn rebased(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let text = value.to_str().ok().filter(|text| text.starts_with('/') && !text.starts_with("//"))?;
        HeaderValue::from_str(&format!("{}{text}", self.0)).ok()
    }

    fn cookie(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let text = value.to_str().ok()?;
        HeaderValue::from_str(&text.replacen("; Path=/;", &format!("; Path={};", self.0), 1)).ok()
    }
}

/// Puts an answer below the path.
pub(crate) async fn rebase(State(shared): State<ConsoleState>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if shared.base.is_root() {
        return response;
    }
    let base = &shared.base;
    let (mut parts, body) = response.into_parts();
    for name in [LOCATION, HX_REDIRECT] {
        if let Some(rebased) = parts.headers.get(&name).and_then(|value| base.rebased(value)) {
            parts.headers.insert(name, rebased);
        }
    }
    let cookies: Vec<HeaderValue> = parts.headers.get_all(SET_COOKIE).iter().cloned().collect();
    parts.headers.remove(SET_COOKIE);
    for cookie in cookies {
        parts.headers.append(SET_COOKIE, base.cookie(&cookie).unwrap_or(cookie));
    }
    let is_page =
        parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !is_page {
        return Response::from_parts(parts, body);
    }
    let Ok(bytes) = to_bytes(body, PAGE_BYTES_MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.remove(CONTENT_LENGTH);
    let page = base.page(String::from_utf8_lossy(&bytes).into_owned());
    Response::from_parts(parts, Body::from(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_public_address() {
        let base = |url: &str| Base::of(Some(url)).0;
        assert_eq!(base("https://a.example/engine/"), "/engine");
        assert_eq!(base("https://a.example:8443/x/y?z#/"), "/x/y");
        assert_eq!([base("https://a.example"), base("https://a.example/")], ["", ""]);
        assert!(Base::of(None).is_root());
    }

    #[test]
    fn addresses_of_a_page_move_and_values_stay() {
        let base = Base("/engine".to_owned());
        let page = r#"<a href="/console">x</a><form action="/console/y"><button formaction="/console/z">
            <input value="/var/lib"><a href="https://a.example/"><p>href=&#34;/no</p><div data-live="/console/live">"#;
        let moved = base.page(page.to_owned());
        for part in [
            r#"<a href="/engine/console">"#,
            r#"<form action="/engine/console/y">"#,
            r#"formaction="/engine/console/z""#,
            r#"value="/var/lib""#,
            r#"href="https://a.example/""#,
            "href=&#34;/no",
            r#"data-live="/engine/console/live""#,
        ] {
            assert!(moved.contains(part), "{part} in {moved}");
        }
        assert_eq!(Base::default().page(page.to_owned()), page);
    }

    #[test]
    fn redirects_and_cookies_move() {
        let base = Base("/engine".to_owned());
        assert_eq!(base.rebased(&HeaderValue::from_static("/console")).unwrap(), "/engine/console");
        assert_eq!(base.rebased(&HeaderValue::from_static("https://idp.example/")), None);
        let cookie = base.cookie(&HeaderValue::from_static("a=b; Path=/; HttpOnly")).unwrap();
        assert_eq!(cookie, "a=b; Path=/engine; HttpOnly");
    }
}
