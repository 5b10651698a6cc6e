//! What people see here: plain pages that need no style and no script.

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::people::{PEOPLE, TestUser};

/// A page can load and run nothing, and can be in no frame.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// One button for each of the people. `query` is what the client asked.
pub(super) fn sign_in(client_id: &str, query: &str) -> Response {
    let button = |test_user: TestUser| {
        let TestUser { name, full_name, group } = test_user;
        let group = group.unwrap_or("no group");
        format!(
            "<li><button type=\"submit\" name=\"person\" value=\"{name}\">{full_name}, {group}</button></li>\n"
        )
    };
    let buttons = PEOPLE.map(button).concat();
    let body = format!(
        "<p>The program <strong>{}</strong> wants to know who you are. Choose a user to sign in as. Users here have no password.</p>\n<form method=\"post\" action=\"{}/authorize?{}\">\n<ul>\n{buttons}</ul>\n</form>",
        escaped(client_id),
        super::BASE,
        escaped(query),
    );
    page(StatusCode::OK, "Sandbox sign-in", &body)
}

pub(super) fn call_error(why: &str) -> Response {
    let body = format!("<p>This sign-in cannot go on: {}.</p>", escaped(why));
    page(StatusCode::BAD_REQUEST, "Sandbox sign-in: refused", &body)
}

pub(super) fn signed_out() -> Response {
    page(StatusCode::OK, "Sandbox sign-in: signed out", "<p>You are signed out. You can close this page.</p>")
}

fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    );
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, Html(html)).into_response()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            plain => out.push(plain),
        }
    }
    out
}
