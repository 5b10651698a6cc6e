//! Asks before something is lost, for browsers without scripts. With scripts, a dialog has asked already.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::shell::{Section, Shell};
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm<'a> {
    csrf: &'a CsrfToken,
    here: &'a str,
    question: &'a str,
    yes: &'a str,
    back: &'a str,
    /// What was sent, to be sent again.
    sent: &'a Fields,
}

/// Whether the user has confirmed it.
pub fn is_confirmed(fields: &Fields) -> bool {
    fields.text("confirmed") == "yes"
}

/// The page that asks; its button sends the same once more.
pub fn page(
    signed_in: &SignedIn,
    section: &Section,
    question: &str,
    yes: &str,
    back: &str,
    sent: &Fields,
) -> Response {
    let content = Confirm { csrf: &signed_in.csrf, here: &signed_in.here, question, yes, back, sent };
    Shell::new(signed_in, section, "Are you sure?").page_with(StatusCode::OK, &content)
}
