//! `GET /console/admin/sessions`

use api::types::{Session, SessionList};
use askama::Template;
use axum::response::Response;

use super::Tab;
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::parts::When;
use crate::path;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

const AT: &str = "/console/admin/sessions";

#[derive(Template)]
#[template(path = "admin/sessions.html")]
struct Sessions {
    csrf: CsrfToken,
    here: Tab,
    sessions: Vec<Session>,
    /// The digest of the one that looks.
    mine: String,
}

pub(super) async fn list(signed_in: SignedIn) -> Response {
    match signed_in.api.get::<SessionList>("/sessions").await {
        Ok(found) => {
            let (sessions, mine) = (found.items, signed_in.digest.clone());
            let content = Sessions { csrf: signed_in.csrf.clone(), here: Tab::Sessions, sessions, mine };
            Shell::new(&signed_in, &crate::admin::SECTION, "Sessions").page(&content)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn end(signed_in: SignedIn, fields: Fields) -> Response {
    match signed_in.api.delete(&format!("/sessions/{}", path::part(fields.text("id")))).await {
        Ok(_) => Flash::good("The session is ended.").at(AT),
        Err(page_error) => page_error.back(&signed_in, AT),
    }
}
