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
use crate::visitor::Visitor;

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

pub(super) async fn list(visitor: Visitor) -> Response {
    match visitor.api.get::<SessionList>("/sessions").await {
        Ok(found) => {
            let (sessions, mine) = (found.items, visitor.digest.clone());
            let content = Sessions { csrf: visitor.csrf.clone(), here: Tab::Sessions, sessions, mine };
            Shell::new(&visitor, &crate::admin::SECTION, "Sessions").page(&content)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn end(visitor: Visitor, fields: Fields) -> Response {
    match visitor.api.delete(&format!("/sessions/{}", path::part(fields.text("id")))).await {
        Ok(_) => Flash::good("The session is ended.").at(AT),
        Err(trouble) => trouble.back(&visitor, AT),
    }
}
