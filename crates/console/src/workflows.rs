//! Workflows: every plan, and what its steps have done in this process.

mod calls;
mod list;
mod show;
mod start;

use axum::Router;
use axum::routing::{get, post};

use crate::parts::Icon;
use crate::shared::ConsoleState;
use crate::shell::Section;
use crate::signed_in::SignedIn;

pub(crate) static SECTION: Section = Section {
    title: "Workflows",
    path: "/console/workflows",
    icon: Icon::Steps,
    position: 920,
    is_for: SignedIn::may_look,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/workflows", get(list::list))
        .route("/console/workflows/{name}", get(show::show))
        .route("/console/workflows/{name}/start", post(start::start))
}

/// What becomes of what was made when a step fails, in words.
fn on_failure(word: &str) -> &'static str {
    match word {
        "unwind" => "everything it made is taken back",
        _ => "what it made is left, and it can be retried",
    }
}
