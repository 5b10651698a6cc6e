//! Launches: a list, and one with all that is known about it.

mod act;
pub(crate) mod ask;
mod give;
mod list;
mod show;
pub(crate) mod view;

use axum::Router;
use axum::routing::{get, post};

use crate::desk::Desk;
use crate::list::live;
use crate::parts::Icon;
use crate::shell::Section;

pub(crate) const SECTION: Section =
    Section { title: "Launches", path: "/console/launches", icon: Icon::List, is_for: |_| true };

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/launches", get(list::list))
        .route("/console/launches/live", get(live::<list::Filters>))
        .route("/console/launches/{id}", get(show::show))
        .route("/console/launches/{id}/live", get(show::live))
        .route("/console/launches/{id}/machines.csv", get(show::machines))
        .route("/console/launches/{id}/parameters", get(give::form).post(give::give))
        .route("/console/launches/{id}/{verb}", post(act::act))
}
