//! The list of operations, and the page of one.

mod about;
mod ask;
mod bulk;
mod download;
mod filters;
mod journal;
mod knows;
mod list;
mod look;
mod show;
mod signal;
mod timeline;
mod waterfall;
mod why;

use api::types::Verb;
use axum::Router;
use axum::routing::{get, post};

use crate::list::live;
use crate::parts::Icon;
use crate::shared::ConsoleState;
use crate::shell::Section;
use crate::signed_in::SignedIn;

pub(crate) static SECTION: Section = Section {
    title: "Operations",
    path: "/console/operations",
    icon: Icon::Activity,
    position: 910,
    is_for: SignedIn::may_look_at_some,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/operations", get(list::list))
        .route("/console/operations/live", get(live::<filters::Filters>))
        .route("/console/operations/bulk", post(bulk::bulk))
        .route("/console/operations/{id}", get(show::show))
        .route("/console/operations/{id}/live", get(show::live))
        .route("/console/operations/{id}/json", get(download::json))
        .route("/console/operations/{id}/signal", post(signal::signal))
        .route("/console/operations/{id}/ask/{verb}", get(ask::form).post(ask::ask))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "templates hand out references")]
pub(crate) fn verb_word(verb: &Verb) -> &'static str {
    match verb {
        Verb::Cancel => "cancel",
        Verb::Pause => "pause",
        Verb::Resume => "resume",
        Verb::Retry => "retry",
    }
}
